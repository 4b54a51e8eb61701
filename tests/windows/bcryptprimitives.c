/* `bcryptprimitives.dll`: the one call of it that programs make; the system has it, wine 8 not yet. */
#include <windows.h>

BOOLEAN WINAPI SystemFunction036(void *bytes, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T length)
{
    return SystemFunction036(bytes, (ULONG)length);
}

BOOL WINAPI DllMainCRTStartup(HINSTANCE library, DWORD reason, void *reserved)
{
    return TRUE;
}
