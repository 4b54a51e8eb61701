/* `python.exe`: the library of Python for Windows does the rest. */
#include <windows.h>

int wmain(int count, wchar_t **words)
{
    HMODULE python = LoadLibraryW(L"" PYTHON);
    int (*run)(int, wchar_t **) = python ? (void *)GetProcAddress(python, "Py_Main") : 0;
    return run ? run(count, words) : 120;
}
