; StyleForge's setup program for Windows, of one user, not signed; `python -m tools.setup` builds it.
;
; It makes an environment beside the installed one and renames it into place when it has been tried,
; so that a step that fails leaves what was there. All it makes has names of its own below the folder
; of the installation. The log is the first file of it, and marks the folder as StyleForge's.
;
; The build defines VERSION, VERSION4 (of four numbers), PUBLISHER, OUT, ICON, PICTURE, UV, WHEEL,
; WHEEL_NAME, LICENSES (a folder), CHECK (what Python runs to try the environment), and WEIGHTS and
; WEIGHTS_NAME where a second wheel is installed.

Unicode true
Target amd64-unicode
SetCompressor /SOLID lzma

!include LogicLib.nsh
!include FileFunc.nsh
!include WinMessages.nsh
!include WinVer.nsh
!include MUI2.nsh

!define KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\StyleForge"
!define MARK "StyleForge setup"
!define PYTHON "3.12"
; Windows opens paths of up to 259 characters; those of the packages take up to 150 of them.
!define LONGEST_FOLDER 100
; Lifts that limit, for licenses in packages that no program opens.
!define LONG "\\?\"

Name "StyleForge"
OutFile "${OUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\StyleForge"
InstallDirRegKey HKCU "${KEY}" "InstallLocation"
ManifestDPIAware true
ManifestSupportedOS Win10
BrandingText "StyleForge ${VERSION}"
ShowInstDetails show
ShowUninstDetails show
SpaceTexts none

VIProductVersion "${VERSION4}"
VIAddVersionKey ProductName "StyleForge"
VIAddVersionKey ProductVersion "${VERSION}"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey FileDescription "Setup of StyleForge"
VIAddVersionKey CompanyName "${PUBLISHER}"
VIAddVersionKey LegalCopyright "${PUBLISHER}"

Var Log ; handle of the log, to append to
Var LogPath
Var Job ; handle of the steps' job, which ends with this program
Var Output ; handle of the log, from which the list shows what a step prints
Var Step ; what is under way, for the line above the bar
Var FreeBefore ; bytes, before the first step
Var Upgrading ; 1 where an environment is replaced
Var Cancelled ; 1 once the user said so

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${PICTURE}"
!define MUI_CUSTOMFUNCTION_ABORT OnCancel
!define MUI_WELCOMEPAGE_TITLE "StyleForge ${VERSION}"
!define MUI_WELCOMEPAGE_TEXT "This installs StyleForge for you alone, without administrator rights, \
or replaces an older one.$\r$\n$\r$\nIt downloads Python, PyTorch and other packages: about 0.3 GB, \
and with an NVIDIA card 2 to 3 GB.$\r$\n$\r$\nThis program is not signed. Windows may therefore warn \
before it starts that it does not know who made it; compare its sha256 with the published one."
!insertmacro MUI_PAGE_WELCOME
!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipFolder
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE CheckFolder
!insertmacro MUI_PAGE_DIRECTORY
!define MUI_PAGE_CUSTOMFUNCTION_SHOW AllowCancel
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN
!define MUI_FINISHPAGE_RUN_TEXT "Start StyleForge"
!define MUI_FINISHPAGE_RUN_FUNCTION Start
!insertmacro MUI_PAGE_FINISH
!define MUI_UNCONFIRMPAGE_TEXT_TOP "StyleForge is removed from the folder below. Your styles, settings \
and unfinished training stay in $LOCALAPPDATA\styleforge."
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE English

; Shows a line in the list and writes it to the log.
!macro Say text
  DetailPrint "${text}"
  Push "${text}"
  Call Write
!macroend
!define Say "!insertmacro Say"

; Runs a command as one step; ends the installation with a sentence if it fails.
!macro RunStep step command sentence
  ${Say} "${step}"
  StrCpy $Step "${step}"
  Push `${command}`
  Call Run
  Pop $0
  ${If} $0 == "cancelled"
    Push "The installation was cancelled; nothing was changed."
    Call Fail
  ${ElseIf} $0 != 0
    ${Say} "status $0"
    Push "${sentence}"
    Call Fail
  ${EndIf}
!macroend
!define RunStep "!insertmacro RunStep"

; Removes a folder that setup made, with all that is in it.
!macro RemoveFolder folder
  ${If} ${FileExists} "${folder}\*.*"
    SetDetailsPrint textonly ; tens of thousands of names
    RMDir /r "${LONG}${folder}"
    SetDetailsPrint both
  ${EndIf}
!macroend
!define RemoveFolder "!insertmacro RemoveFolder"

; Functions that the installer and the uninstaller share.
!macro Shared un

; Pushes the name of a program of the installation that is running, or "".
Function ${un}Running
  Push $0
  Push $1
  Push $2
  Push $3
  StrCpy $3 ""
  FindFirst $0 $1 "$INSTDIR\env\Scripts\*.exe"
  ${DoWhile} $1 != ""
    Push "$INSTDIR\env\Scripts\$1"
    Call ${un}InUse
    Pop $2
    StrCpy $3 "$3$2"
    FindNext $0 $1
  ${Loop}
  FindClose $0
  FindFirst $0 $1 "$INSTDIR\python\*.*"
  ${DoWhile} $1 != ""
    Push "$INSTDIR\python\$1\python.exe"
    Call ${un}InUse
    Pop $2
    StrCpy $3 "$3$2"
    Push "$INSTDIR\python\$1\pythonw.exe"
    Call ${un}InUse
    Pop $2
    StrCpy $3 "$3$2"
    FindNext $0 $1
  ${Loop}
  FindClose $0
  Push "$INSTDIR\uv.exe"
  Call ${un}InUse
  Pop $2
  StrCpy $0 "$3$2"
  Pop $3
  Pop $2
  Pop $1
  Exch $0
FunctionEnd

; Replaces the path of a program by "yes" if it is running, since Windows then refuses to open it
; for writing, or by "".
Function ${un}InUse
  Exch $0
  Push $1
  ${If} ${FileExists} $0
    ClearErrors
    FileOpen $1 $0 a
    ${If} ${Errors}
      StrCpy $0 "yes"
    ${Else}
      FileClose $1
      StrCpy $0 ""
    ${EndIf}
  ${Else}
    StrCpy $0 ""
  ${EndIf}
  Pop $1
  Exch $0
FunctionEnd

; Asks to close StyleForge as long as it runs; pushes "yes" where it still does.
Function ${un}AskToClose
  Push $0
  ${Do}
    Call ${un}Running
    Pop $0
    ${If} $0 == ""
      ${Break}
    ${EndIf}
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "StyleForge is running. Close it, then try again." /SD IDCANCEL IDRETRY +2
    ${Break}
  ${Loop}
  ${If} $0 != ""
    StrCpy $0 "yes"
  ${EndIf}
  Exch $0
FunctionEnd

; Pushes "yes" where the folder has the log of a setup.
Function ${un}IsOurs
  Push $0
  Push $1
  ClearErrors
  FileOpen $0 "$INSTDIR\setup.log" r
  ${If} ${Errors}
    StrCpy $1 ""
  ${Else}
    FileRead $0 $1
    FileClose $0
    StrLen $0 "${MARK}"
    StrCpy $1 $1 $0
  ${EndIf}
  ${If} $1 == "${MARK}"
    StrCpy $0 "yes"
  ${Else}
    StrCpy $0 ""
  ${EndIf}
  Pop $1
  Exch $0
FunctionEnd

; Renames a folder of the installation: Push old, Push new; pushes "" or "failed". Tries for some
; seconds, since a virus scanner opens what is new.
Function ${un}Move
  Exch $1
  Exch
  Exch $0
  Push $2
  ${For} $2 1 10
    ClearErrors
    Rename "${LONG}$INSTDIR\$0" "${LONG}$INSTDIR\$1"
    ${IfNot} ${Errors}
      ${Break}
    ${EndIf}
    Sleep 500
  ${Next}
  ${If} ${FileExists} "$INSTDIR\$0\*.*"
    StrCpy $0 "failed"
  ${Else}
    StrCpy $0 ""
  ${EndIf}
  Pop $2
  Exch
  Pop $1
  Exch $0
FunctionEnd

!macroend
!insertmacro Shared ""
!insertmacro Shared "un."

Function .onInit
  SetShellVarContext current
  System::Call 'kernel32::CreateMutexW(p 0, i 0, w "StyleForgeSetup") p .r0 ?e'
  Pop $0
  ${If} $0 = 183 ; ERROR_ALREADY_EXISTS
    MessageBox MB_OK|MB_ICONSTOP "Another setup of StyleForge is running." /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
  ${IfNot} ${AtLeastWin10}
    MessageBox MB_OK|MB_ICONSTOP "StyleForge needs Windows 10 or newer." /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
FunctionEnd

; Pushes why nothing can be installed into the folder, in one sentence, or "".
Function FolderFault
  Push $0
  Push $1
  Push $2
  StrCpy $2 ""
  StrLen $0 $INSTDIR
  StrCpy $1 $INSTDIR 2
  ReadRegStr $3 HKCU "${KEY}" "InstallLocation"
  ${If} $0 > ${LONGEST_FOLDER}
    StrCpy $2 "The path '$INSTDIR' is too long: ${LONGEST_FOLDER} characters are allowed."
  ${ElseIf} $1 == "\\"
    StrCpy $2 "'$INSTDIR' is on another computer: choose a folder on a drive of this one."
  ${ElseIf} $3 != ""
  ${AndIf} $3 != $INSTDIR
  ${AndIf} ${FileExists} "$3\uninstall.exe"
    StrCpy $2 "StyleForge is installed in '$3': choose that folder, or uninstall it first."
  ${Else}
    Call IsOurs
    Pop $0
    ${If} $0 == ""
      FindFirst $0 $1 "$INSTDIR\*.*"
      ${DoWhile} $1 != ""
        ${If} $1 != "."
        ${AndIf} $1 != ".."
          StrCpy $2 "The folder '$INSTDIR' holds other files: choose an empty or a new one."
        ${EndIf}
        FindNext $0 $1
      ${Loop}
      FindClose $0
    ${EndIf}
  ${EndIf}
  StrCpy $0 $2
  Pop $2
  Pop $1
  Exch $0
FunctionEnd

; An installation is replaced where it is.
Function SkipFolder
  ReadRegStr $0 HKCU "${KEY}" "InstallLocation"
  ${If} $0 != ""
  ${AndIf} $0 == $INSTDIR
  ${AndIf} ${FileExists} "$0\uninstall.exe"
    Abort
  ${EndIf}
FunctionEnd

Function CheckFolder
  Call FolderFault
  Pop $0
  ${If} $0 != ""
    MessageBox MB_OK|MB_ICONEXCLAMATION $0
    Abort
  ${EndIf}
FunctionEnd

; A download of gigabytes can be cancelled; NSIS disables the button.
Function AllowCancel
  GetDlgItem $0 $HWNDPARENT 2 ; IDCANCEL
  EnableWindow $0 1
FunctionEnd

; Runs on the window's thread while the section runs on another: it must not touch the stack.
Function OnCancel
  ${If} $Step != ""
    StrCpy $Cancelled 1
    Abort
  ${EndIf}
FunctionEnd

Function Start
  SetOutPath $PROFILE
  Exec '"$INSTDIR\env\Scripts\pythonw.exe" -I -m styleforge'
FunctionEnd

; Opens $LogPath, emptied, for Write and for the steps, which inherit the handle; pushes "" or
; "failed".
Function OpenLog
  Push $0
  ; FILE_APPEND_DATA and SYNCHRONIZE, shared for reading and writing, CREATE_ALWAYS
  System::Call 'kernel32::CreateFileW(w "$LogPath", i 0x100004, i 3, p 0, i 2, i 0x80, p 0) p .r0'
  StrCpy $Log $0
  ; GENERIC_READ, OPEN_EXISTING
  System::Call 'kernel32::CreateFileW(w "$LogPath", i 0x80000000, i 3, p 0, i 3, i 0x80, p 0) p .r0'
  StrCpy $Output $0
  System::Call 'kernel32::SetHandleInformation(p $Log, i 1, i 1) i .r0' ; HANDLE_FLAG_INHERIT
  ${If} $0 = 0
  ${OrIf} $Output = -1
    StrCpy $0 "failed"
  ${Else}
    StrCpy $0 ""
    Push "${MARK} ${VERSION}"
    Call Write
  ${EndIf}
  Exch $0
FunctionEnd

; Makes the job of the steps: they end when this program does, however that comes.
Function MakeJob
  System::Call 'kernel32::CreateJobObjectW(p 0, p 0) p .r0'
  StrCpy $Job $0
  System::Alloc 144 ; JOBOBJECT_EXTENDED_LIMIT_INFORMATION, of zeros
  Pop $0
  IntPtrOp $1 $0 + 16
  System::Call '*$1(i 0x2000)' ; LimitFlags: JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
  System::Call 'kernel32::SetInformationJobObject(p $Job, i 9, p r0, i 144)'
  System::Free $0
FunctionEnd

; Writes the line on the stack to the log, in UTF-8 as the steps do.
Function Write
  Exch $0
  Push $1
  Push $2
  Push $3
  StrCpy $0 "$0$\r$\n"
  System::Call 'kernel32::WideCharToMultiByte(i 65001, i 0, w r0, i -1, p 0, i 0, p 0, p 0) i .r1'
  System::Alloc $1
  Pop $2
  System::Call 'kernel32::WideCharToMultiByte(i 65001, i 0, w r0, i -1, p r2, i r1, p 0, p 0)'
  IntOp $1 $1 - 1 ; without the NUL
  System::Call 'kernel32::WriteFile(p $Log, p r2, i r1, *i .r3, p 0)'
  System::Free $2
  Pop $3
  Pop $2
  Pop $1
  Pop $0
FunctionEnd

; Replaces a command line by the exit status of the command, which runs without a window and
; prints into the log; by "cancelled" if the user cancelled it, or "error" if it did not start.
Function Run
  Exch $R0
  Push $R1
  Push $R2
  Push $R3
  Push $R4
  Push $R5
  Push $R6
  Push "> $R0"
  Call Write
  System::Call 'kernel32::SetFilePointer(p $Output, i 0, p 0, i 2)'
  ; STARTUPINFOW: cb, padding; three names; position, sizes, fill; STARTF_USESTDHANDLES and
  ; STARTF_USESHOWWINDOW; SW_HIDE, padding; reserved; standard input, output, error
  System::Call '*(i 104, i 0, p 0, p 0, p 0, i 0, i 0, i 0, i 0, i 0, i 0, i 0, i 0x101, i 0, i 0, p 0, p 0, p $Log, p $Log) p .R1'
  System::Call '*(p 0, p 0, i 0, i 0) p .R2' ; PROCESS_INFORMATION
  ; inherits handles, CREATE_NO_WINDOW
  System::Call 'kernel32::CreateProcessW(p 0, w R0, p 0, p 0, i 1, i 0x8000000, p 0, w "$INSTDIR", p R1, p R2) i .R0 ?e'
  Pop $R6
  ${If} $R0 = 0
    StrCpy $R0 "error $R6"
  ${Else}
    System::Call '*$R2(p .R3, p .R4)'
    System::Call 'kernel32::AssignProcessToJobObject(p $Job, p R3)'
    System::Call 'kernel32::CloseHandle(p R4)'
    StrCpy $R6 0
    ${Do}
      System::Call 'kernel32::WaitForSingleObject(p R3, i 100) i .R5'
      Call ShowOutput
      IntOp $R6 $R6 + 1
      IntOp $R4 $R6 % 20
      ${If} $R4 = 0
        Call ShowAmount
      ${EndIf}
      ${If} $Cancelled = 1
        System::Call 'kernel32::TerminateJobObject(p $Job, i 1)'
      ${EndIf}
    ${LoopUntil} $R5 <> 258 ; WAIT_TIMEOUT
    System::Call 'kernel32::GetExitCodeProcess(p R3, *i .R0)'
    System::Call 'kernel32::CloseHandle(p R3)'
  ${EndIf}
  ${If} $Cancelled = 1
    StrCpy $R0 "cancelled"
  ${EndIf}
  System::Free $R1
  System::Free $R2
  Pop $R6
  Pop $R5
  Pop $R4
  Pop $R3
  Pop $R2
  Pop $R1
  Exch $R0
FunctionEnd

; Shows the whole lines that a step has printed since the last call.
Function ShowOutput
  Push $0
  Push $1
  Push $2
  Push $3
  Push $4
  Push $5
  Push $6
  System::Alloc 900
  Pop $0
  ${Do}
    System::Call 'kernel32::ReadFile(p $Output, p r0, i 900, *i .r1, p 0)'
    StrCpy $2 $1
    ${DoWhile} $2 > 0 ; back to the last line break
      IntOp $3 $2 - 1
      IntPtrOp $3 $0 + $3
      System::Call '*$3(&i1 .r4)'
      ${If} $4 = 10
        ${Break}
      ${EndIf}
      IntOp $2 $2 - 1
    ${Loop}
    ${If} $2 = 0
    ${AndIf} $1 = 900 ; one long line
      StrCpy $2 $1
    ${EndIf}
    IntOp $3 $2 - $1 ; what follows the line break is read again
    System::Call 'kernel32::SetFilePointer(p $Output, i r3, p 0, i 1)'
    ${If} $2 = 0
      ${Break}
    ${EndIf}
    System::Call 'kernel32::MultiByteToWideChar(i 65001, i 0, p r0, i r2, w .r5, i ${NSIS_MAX_STRLEN})'
    StrCpy $3 ""
    StrCpy $2 0
    ${Do}
      StrCpy $4 $5 1 $2
      ${If} $4 == ""
      ${OrIf} $4 == "$\n"
        ${If} $3 != ""
          DetailPrint $3
        ${EndIf}
        StrCpy $3 ""
      ${ElseIf} $4 != "$\r"
        StrCpy $3 "$3$4"
      ${EndIf}
      IntOp $2 $2 + 1
    ${LoopUntil} $4 == ""
  ${Loop}
  System::Free $0
  Pop $6
  Pop $5
  Pop $4
  Pop $3
  Pop $2
  Pop $1
  Pop $0
FunctionEnd

; Writes above the bar how much the disk has filled since the first step, which is about what was
; downloaded and unpacked.
Function ShowAmount
  Push $0
  System::Call 'kernel32::GetDiskFreeSpaceExW(w "$INSTDIR", *l .r0, p 0, p 0)'
  System::Int64Op $FreeBefore - $0
  Pop $0
  System::Int64Op $0 / 1000000
  Pop $0
  ${If} $0 > 0
    SetDetailsPrint textonly
    DetailPrint "$Step ($0 MB on the disk so far)"
    SetDetailsPrint both
  ${EndIf}
  Pop $0
FunctionEnd

; Ends the installation with the sentence on the stack, after removing what it had made.
Function Fail
  Exch $0
  StrCpy $0 "$0 The log is '$LogPath'."
  ${Say} $0
  ${If} $LogPath == "$INSTDIR\setup.log" ; else the folder is somebody else's
    ${RemoveFolder} "$INSTDIR\env.new"
    ${If} $Upgrading <> 1
      ${RemoveFolder} "$INSTDIR\python"
      ${RemoveFolder} "$INSTDIR\cache"
    ${EndIf}
  ${EndIf}
  StrCpy $Step ""
  Push 0
  Call ShowActivity
  SetErrorLevel 2
  MessageBox MB_OK|MB_ICONSTOP $0 /SD IDOK
  Abort $0
FunctionEnd

; A variable of the environment of the steps.
!macro Set name value
  System::Call 'kernel32::SetEnvironmentVariableW(w "${name}", w "${value}")'
!macroend
!define Set "!insertmacro Set"

Section "-StyleForge"
  StrCpy $Upgrading 1 ; until it is known that there is nothing to keep
  StrCpy $LogPath "$TEMP\StyleForge-setup.log" ; until the folder is ours
  Call FolderFault
  Pop $1
  ${If} $1 == ""
    StrCpy $LogPath "$INSTDIR\setup.log"
    CreateDirectory $INSTDIR
  ${EndIf}
  Call OpenLog
  Pop $0
  ${If} $0 != ""
    SetErrorLevel 2
    MessageBox MB_OK|MB_ICONSTOP "The file '$LogPath' cannot be written; choose another folder." /SD IDOK
    Abort "The file '$LogPath' cannot be written; choose another folder."
  ${EndIf}
  ${If} $1 != ""
    Push $1
    Call Fail
  ${EndIf}

  ; What a setup left that was killed.
  ${IfNot} ${FileExists} "$INSTDIR\env\*.*"
  ${AndIf} ${FileExists} "$INSTDIR\env.old\*.*"
    Push "env.old"
    Push "env"
    Call Move
    Pop $0
  ${EndIf}
  Call AskToClose
  Pop $0
  ${If} $0 != ""
    Push "StyleForge is running; close it and start the setup again."
    Call Fail
  ${EndIf}
  ${RemoveFolder} "$INSTDIR\env.new"
  ${RemoveFolder} "$INSTDIR\env.old"
  ${IfNot} ${FileExists} "$INSTDIR\env\*.*"
    StrCpy $Upgrading 0
  ${EndIf}

  InitPluginsDir
  File "/oname=$PLUGINSDIR\uv.exe" "${UV}"
  File "/oname=$PLUGINSDIR\${WHEEL_NAME}" "${WHEEL}"
  !ifdef WEIGHTS
    File "/oname=$PLUGINSDIR\${WEIGHTS_NAME}" "${WEIGHTS}"
    !define WHEELS '"$PLUGINSDIR\${WHEEL_NAME}" "$PLUGINSDIR\${WEIGHTS_NAME}"'
  !else
    !define WHEELS '"$PLUGINSDIR\${WHEEL_NAME}"'
  !endif
  ${Set} UV_CACHE_DIR "$INSTDIR\cache"
  ${Set} UV_PYTHON_INSTALL_DIR "$INSTDIR\python"
  ${Set} UV_PYTHON_INSTALL_REGISTRY 0
  ${Set} UV_PYTHON_INSTALL_BIN 0
  ${Set} NO_COLOR 1
  System::Call 'kernel32::GetDiskFreeSpaceExW(w "$INSTDIR", *l .r0, p 0, p 0)'
  StrCpy $FreeBefore $0
  Call MakeJob
  Push 1
  Call ShowActivity

  ${RunStep} "Downloading Python ${PYTHON}: some 20 MB" \
    '"$PLUGINSDIR\uv.exe" python install ${PYTHON}' \
    "Python ${PYTHON} could not be installed."
  ${RunStep} "Making an environment" \
    '"$PLUGINSDIR\uv.exe" venv --relocatable --no-project --managed-python --no-python-downloads --python ${PYTHON} "$INSTDIR\env.new"' \
    "The environment of Python could not be made."
  ${RunStep} "Downloading PyTorch and other packages: about 0.3 GB, with an NVIDIA card 2 to 3 GB" \
    '"$PLUGINSDIR\uv.exe" pip install --python "$INSTDIR\env.new\Scripts\python.exe" --torch-backend auto --link-mode hardlink ${WHEELS}' \
    "StyleForge and the packages it needs could not be installed."
  ${RunStep} "Trying what was installed" \
    '"$INSTDIR\env.new\Scripts\python.exe" -I -X utf8 -c "${CHECK}"' \
    "StyleForge does not start on this computer, so it was not installed."
  StrCpy $Step ""
  Push 0
  Call ShowActivity

  ; From here on nothing is downloaded and nothing waits.
  Call AskToClose
  Pop $0
  ${If} $0 == ""
  ${AndIf} $Upgrading = 1
    Push "env"
    Push "env.old"
    Call Move
    Pop $0
  ${EndIf}
  ${If} $0 != ""
    Push "StyleForge is running; close it and start the setup again."
    Call Fail
  ${EndIf}
  Push "env.new"
  Push "env"
  Call Move
  Pop $0
  ${If} $0 != ""
    ${If} $Upgrading = 1
      Push "env.old"
      Push "env"
      Call Move
      Pop $0
    ${EndIf}
    Push "The new environment could not be renamed from 'env.new' to 'env'."
    Call Fail
  ${EndIf}

  SetOutPath "$INSTDIR\licenses"
  File "${LICENSES}\*.*"
  SetOutPath $INSTDIR
  File "/oname=StyleForge.ico" "${ICON}"
  CopyFiles /SILENT "$PLUGINSDIR\uv.exe" "$INSTDIR\uv.exe"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  SetOutPath $PROFILE ; where the program starts
  ClearErrors
  CreateShortcut "$SMPROGRAMS\StyleForge.lnk" "$INSTDIR\env\Scripts\pythonw.exe" "-I -m styleforge" \
    "$INSTDIR\StyleForge.ico" 0 SW_SHOWNORMAL "" "Live neural style transfer"
  ${If} ${Errors}
    ${Say} "The entry in the Start menu could not be written: '$SMPROGRAMS\StyleForge.lnk'"
  ${EndIf}
  ${GetSize} "$INSTDIR\env" "/S=0K" $0 $1 $1
  ${GetSize} "$INSTDIR\python" "/S=0K" $2 $1 $1
  IntOp $0 $0 + $2
  WriteRegStr HKCU "${KEY}" "DisplayName" "StyleForge"
  WriteRegStr HKCU "${KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${KEY}" "DisplayIcon" "$INSTDIR\StyleForge.ico"
  WriteRegStr HKCU "${KEY}" "Publisher" "${PUBLISHER}"
  WriteRegStr HKCU "${KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${KEY}" "EstimatedSize" $0
  WriteRegDWORD HKCU "${KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${KEY}" "NoRepair" 1
  Call CleanCache
  ${RemoveFolder} "$INSTDIR\env.old"
  ${Say} "StyleForge ${VERSION} is installed."
SectionEnd

; Push 1: moves the bar while nothing is known of how far a step is. Push 0: a bar as before.
Function ShowActivity
  Exch $2
  Push $0
  Push $1
  ${IfNot} ${Silent}
    FindWindow $0 "#32770" "" $HWNDPARENT
    GetDlgItem $0 $0 1004
    System::Call 'user32::GetWindowLongW(p r0, i -16) i .r1'
    IntOp $1 $1 & 0xFFFFFFF7
    IntOp $2 $2 * 8 ; PBS_MARQUEE
    IntOp $1 $1 | $2
    System::Call 'user32::SetWindowLongW(p r0, i -16, i r1)'
    SendMessage $0 0x40A $2 50 ; PBM_SETMARQUEE
  ${EndIf}
  Pop $1
  Pop $0
  Pop $2
FunctionEnd

; The cache shares its files with the environment and takes no room of its own, but for those of a
; PyTorch that was replaced. Our wheels are found in it by their paths, other ones each time.
Function CleanCache
  StrCpy $2 "styleforge styleforge-any-style"
  FindFirst $0 $1 "$INSTDIR\env.old\Lib\site-packages\torch-*.dist-info"
  FindClose $0
  ${If} $1 != ""
  ${AndIfNot} ${FileExists} "$INSTDIR\env\Lib\site-packages\$1\*.*"
    StrCpy $2 "$2 torch"
  ${EndIf}
  Push '"$INSTDIR\uv.exe" cache clean $2'
  Call Run
  Pop $0
  ${If} $0 != 0
    ${Say} "'$INSTDIR\cache' still holds what was replaced: status $0"
  ${EndIf}
FunctionEnd

Function un.onInit
  SetShellVarContext current
  Call un.IsOurs
  Pop $0
  ${If} $0 == ""
    MessageBox MB_OK|MB_ICONSTOP "There is no StyleForge in '$INSTDIR': its file setup.log is missing." /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
FunctionEnd

Section "Uninstall"
  Call un.AskToClose
  Pop $0
  ${If} $0 == ""
  ${AndIf} ${FileExists} "$INSTDIR\env\*.*"
    ${RemoveFolder} "$INSTDIR\env.old"
    Push "env"
    Push "env.old"
    Call un.Move
    Pop $0
  ${EndIf}
  ${If} $0 != ""
    SetErrorLevel 2
    Abort "StyleForge is running; close it and uninstall it again."
  ${EndIf}
  ${RemoveFolder} "$INSTDIR\env.old"
  ${RemoveFolder} "$INSTDIR\env.new"
  ${RemoveFolder} "$INSTDIR\python"
  ${RemoveFolder} "$INSTDIR\cache"
  Delete "$INSTDIR\licenses\StyleForge.txt"
  Delete "$INSTDIR\licenses\uv-APACHE.txt"
  Delete "$INSTDIR\licenses\uv-MIT.txt"
  RMDir "$INSTDIR\licenses"
  Delete "$INSTDIR\uv.exe"
  Delete "$INSTDIR\StyleForge.ico"
  Delete "$INSTDIR\setup.log"
  Delete "$INSTDIR\uninstall.exe"
  RMDir $INSTDIR ; only if it is empty
  ReadRegStr $0 HKCU "${KEY}" "InstallLocation"
  ${If} $0 == $INSTDIR
    DeleteRegKey HKCU "${KEY}"
    Delete "$SMPROGRAMS\StyleForge.lnk"
  ${EndIf}
  ${If} ${FileExists} "$INSTDIR\*.*"
    DetailPrint "Files that setup did not make are still in '$INSTDIR'."
  ${EndIf}
  DetailPrint "Your styles and settings are still in '$LOCALAPPDATA\styleforge'."
SectionEnd
