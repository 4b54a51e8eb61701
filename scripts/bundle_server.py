"""What a bundle starts: the server of the installed package, over stdio."""

import sys

from commonplace.__main__ import main

if __name__ == "__main__":
    sys.argv[1:] = ["mcp"]
    main()
