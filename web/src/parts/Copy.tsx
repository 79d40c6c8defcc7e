// Text to copy, such as addresses and ids: shortened in the middle, complete in the tooltip and when it is copied.
import { useState } from "preact/hooks"
import { words } from "../words.ts"

const copy = async (text: string) => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // A page without TLS on a host that is not this machine has no clipboard.
    return false
  }
}

/** Characters at each end. */
const ends = 8

const shortened = (text: string): string =>
  text.length <= ends * 2 ? text : `${text.slice(0, ends)}…${text.slice(-ends / 2)}`

export const CopyButton = ({ text, label }: { readonly text: string; readonly label?: string }) => {
  const [said, say] = useState<string>()
  const onClick = async () => {
    say((await copy(text)) ? words.copy.done : words.copy.failed)
    setTimeout(say, 2_000, undefined)
  }
  return (
    <button class={label === undefined ? "copy" : "btn s"} type="button" title={words.copy.title} onClick={onClick}>
      <span aria-live="polite">{said ?? label ?? words.copy.copy}</span>
    </button>
  )
}

/** An id or an address. `full` shows all of it. */
export const Code = ({ text, full = false }: { readonly text: string; readonly full?: boolean }) => (
  <span class="code">
    <code title={text}>
      <bdi>{full ? text : shortened(text)}</bdi>
    </code>
    <CopyButton text={text} />
  </span>
)
