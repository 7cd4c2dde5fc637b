// Shell completion for bash, zsh and fish. The scripts only ask `dues __complete`, which answers
// with a line per candidate, what it is behind a space, and `:files` or `:done` at the end.

import { Argument, type Command } from "commander";
import { complete } from "./complete.ts";
import { command } from "./connection/command.ts";
import type { Io } from "./terminal/io.ts";

/** Asked by the scripts alone, so it is no command that help shows. */
export const COMPLETE = "__complete";

export function completionCommand(io: Io): Command {
  return command("completion", "reads", "Print a completion script for a shell.", [
    ["source <(dues completion bash)", "in ~/.bashrc"],
    ["source <(dues completion zsh)", "in ~/.zshrc"],
    ["dues completion fish > ~/.config/fish/completions/dues.fish", ""],
  ])
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS) => io.out(SCRIPTS[shell]));
}

/** What can follow `words`, the last of which is being written. */
export function completionText(root: Command, words: readonly string[]): string {
  const { candidates, files } = complete(root, words);
  const lines = candidates.map(({ word, says }) =>
    `${word} ${says.replace(/\s+/g, " ")}`.trimEnd(),
  );
  return `${[...lines, files ? ":files" : ":done"].join("\n")}\n`;
}

// The words are read from the line itself: bash parts its own list at = and : too. Written so that
// the bash of macOS, 3.2, runs it.
const BASH = `_dues() {
  local line word current words=()
  line="\${COMP_LINE:0:COMP_POINT}"
  read -r -a words <<< "$line"
  case "$line" in *[[:space:]]) words+=("") ;; esac
  current="\${words[\${#words[@]}-1]}"
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :done) ;;
      :files)
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
        compopt -o filenames 2>/dev/null
        ;;
      *)
        word="\${line%% *}"
        case "$current" in *=*) word="\${word#*=}" ;; esac
        COMPREPLY+=("$word")
        ;;
    esac
  done < <("\${words[0]}" ${COMPLETE} "\${words[@]:1}" 2>/dev/null)
}
complete -F _dues dues
`;

const ZSH = `#compdef dues
_dues() {
  local line
  local -a found
  local files=0
  for line in "\${(@f)$("\${words[1]}" ${COMPLETE} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case "$line" in
      :done|"") ;;
      :files) files=1 ;;
      *" "*) found+=("\${\${line%% *}//:/\\\\:}:\${line#* }") ;;
      *) found+=("\${line//:/\\\\:}") ;;
    esac
  done
  (( \${#found} )) && _describe -t dues dues found
  (( files )) && _files
}
if [ "$funcstack[1]" = "_dues" ]; then
  _dues
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }
  compdef _dues dues
fi
`;

const FISH = `function __dues_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] ${COMPLETE} $words[2..-1] "$current" 2>/dev/null)
    switch $line
      case :done
      case :files
        __fish_complete_path $current
      case '*'
        string replace ' ' \t -- $line
    end
  end
end
complete -c dues -f -a '(__dues_complete)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
