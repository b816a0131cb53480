/* Stands for uv.exe and Python in trials of the setup program: makes small files where they would
   make large ones, and fails at the step that the variable STANDIN_FAIL names. */

#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

enum { LONGEST = 1024 };

static void say(const wchar_t *text) {
    char bytes[4 * LONGEST];
    int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, sizeof bytes, NULL, NULL);
    DWORD written;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), bytes, length - 1, &written, NULL);
}

static const wchar_t *variable(const wchar_t *name, const wchar_t *otherwise) {
    static wchar_t values[8][LONGEST];
    static int next;
    wchar_t *value = values[next++ % 8];
    return GetEnvironmentVariableW(name, value, LONGEST) ? value : otherwise;
}

static int failing(const wchar_t *step) {
    if (wcscmp(variable(L"STANDIN_FAIL", L""), step)) return 0;
    say(L"error: told to fail\n");
    return 1;
}

/* The path as one that may have more than 260 characters, and its folders made. */
static const wchar_t *place(const wchar_t *folder, const wchar_t *below) {
    static wchar_t path[2 * LONGEST];
    swprintf(path, 2 * LONGEST, L"\\\\?\\%ls\\%ls", folder, below);
    for (wchar_t *c = path + 7; *c; c++) {
        if (*c != L'\\') continue;
        *c = 0;
        CreateDirectoryW(path, NULL);
        *c = L'\\';
    }
    return path;
}

static void write_file(const wchar_t *folder, const wchar_t *below, const wchar_t *text) {
    FILE *file = _wfopen(place(folder, below), L"wb");
    fprintf(file, "%ls", text);
    fclose(file);
}

static void copy_self(const wchar_t *folder, const wchar_t *below) {
    wchar_t self[LONGEST];
    GetModuleFileNameW(NULL, self, LONGEST);
    CopyFileW(self, place(folder, below), FALSE);
}

static int uv(int count, wchar_t **words) {
    const wchar_t *cache = variable(L"UV_CACHE_DIR", L"?"), *last = words[count - 1];
    const wchar_t *torch = variable(L"STANDIN_TORCH", L"2.13.0");
    wchar_t folder[LONGEST], text[2 * LONGEST];
    if (!wcscmp(words[1], L"python")) {
        copy_self(variable(L"UV_PYTHON_INSTALL_DIR", L"?"), L"cpython-3.12\\python.exe");
        return failing(L"python") ? 2 : 0;
    }
    if (!wcscmp(words[1], L"venv")) {
        swprintf(text, LONGEST, L"Creating virtual environment at: %ls\n", last);
        say(text);
        copy_self(last, L"Scripts\\python.exe");
        if (failing(L"venv")) return 2;
        copy_self(last, L"Scripts\\pythonw.exe");
        write_file(last, L"pyvenv.cfg", L"relocatable = true\n");
        return 0;
    }
    if (!wcscmp(words[1], L"pip")) {
        say(L"Downloading torch (2.4GiB)\n");
        swprintf(text, LONGEST, L"archive-v0\\torch-%ls", torch);
        write_file(cache, text, L"torch");
        if (failing(L"hang")) Sleep(60000);
        if (failing(L"pip")) return 2;
        const wchar_t *wheels[] = {words[count - 2], last};
        for (int i = 0; i < 2; i++) {
            if (GetFileAttributesW(wheels[i]) == INVALID_FILE_ATTRIBUTES) return 3;
        }
        *wcsstr(wcscpy(folder, words[4]), L"\\Scripts\\python.exe") = 0;
        swprintf(text, LONGEST, L"Lib\\site-packages\\torch-%ls.dist-info\\%0200d\\LICENSE", torch, 0);
        write_file(folder, text, L"free");
        swprintf(text, 2 * LONGEST, L"%ls\n%ls\n%ls\n%ls\n",
                 wcsrchr(wheels[0], L'\\') + 1, wcsrchr(wheels[1], L'\\') + 1,
                 wcsstr(GetCommandLineW(), L"--torch-backend auto") ? L"auto" : L"",
                 variable(L"UV_PYTHON_INSTALL_REGISTRY", L"?"));
        write_file(folder, L"Lib\\site-packages\\styleforge\\installed.txt", text);
        return 0;
    }
    if (!wcscmp(words[1], L"cache")) {
        for (int i = 3; i < count; i++) {
            swprintf(text, LONGEST, L"cleaned-%ls", words[i]);
            write_file(cache, text, L"");
        }
        return 0;
    }
    return 4;
}

int wmain(int count, wchar_t **words) {
    wchar_t self[LONGEST];
    GetModuleFileNameW(NULL, self, LONGEST);
    if (wcsstr(self, L"pythonw.exe")) {
        DWORD written;
        WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), "running\n", 8, &written, NULL);
        Sleep(60000);
        return 0;
    }
    if (wcsstr(self, L"python.exe")) {
        return failing(L"check") ? 1 : 0;
    }
    return count > 2 ? uv(count, words) : 4;
}
