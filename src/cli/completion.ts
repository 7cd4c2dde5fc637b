// Shell completion for bash, zsh and fish, made from the commands themselves.

import type { Command, Option } from "commander";
import { command } from "./command.ts";
import type { Io } from "./io.ts";

export function completionCommand(io: Io, root: () => Command): Command {
  return command("completion", "Print a completion script for a shell.", [
    ["source <(dues completion bash)", "in ~/.bashrc"],
    ["source <(dues completion zsh)", "in ~/.zshrc"],
    ["dues completion fish > ~/.config/fish/completions/dues.fish", ""],
  ])
    .argument("<shell>", "bash, zsh or fish")
    .action((shell: string, _flags: object, self: Command) => {
      if (shell === "fish") io.out(fishScript(root()));
      else if (shell === "bash") io.out(bashScript(root()));
      else if (shell === "zsh")
        io.out(`autoload -U +X bashcompinit && bashcompinit\n${bashScript(root())}`);
      else self.error(`error: there is completion for bash, zsh and fish, not for ${shell}`);
    });
}

type CommandWords = { readonly path: string; readonly words: string[] };

/** Every command by its path, with the words that can follow it. */
export function commandWords(root: Command, path: readonly string[] = []): CommandWords[] {
  const inner = root.commands.filter((each) => each.name() !== "help");
  const flags = root.options
    .filter((option: Option) => !option.hidden)
    .flatMap((option) => option.long ?? []);
  const words = [...inner.map((each) => each.name()), ...flags, "--help"];
  return [
    { path: path.join(" "), words },
    ...inner.flatMap((each) => commandWords(each, [...path, each.name()])),
  ];
}

function bashScript(root: Command): string {
  const cases = commandWords(root).map(
    ({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`,
  );
  return `_dues() {
  local path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  while :; do
    case "$path" in
${cases.map((line) => `  ${line}`).join("\n")}
    esac
    [ -n "$words" ] || [ -z "$path" ] && break
    case "$path" in *" "*) path="\${path% *}" ;; *) path="" ;; esac
  done
  COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -o default -F _dues dues
`;
}

function fishScript(root: Command): string {
  const lines = commandWords(root).flatMap(({ path, words }) => {
    const seen = path === "" ? "__fish_use_subcommand" : `__dues_at ${path}`;
    return words.map((word) =>
      word.startsWith("--")
        ? `complete -c dues -n '${seen}' -l ${word.slice(2)}`
        : `complete -c dues -f -n '${seen}' -a ${word}`,
    );
  });
  return `function __dues_at
  set -l words (string match -v -- '-*' (commandline -opc)[2..])
  test "$words" = "$argv"
end
${lines.join("\n")}
`;
}
