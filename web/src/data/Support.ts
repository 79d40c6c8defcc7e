// Whether this browser has what the console needs, and what a person can use instead. It runs before everything else, also in old browsers.
import { apiUrlOf } from "../../../src/api/SamePage.ts"

/** The newest of what the console uses, each with the object that has it. Browsers since autumn 2024 have all. */
const needed: ReadonlyArray<readonly [owner: object, name: string]> = [
  [URL, "parse"],
  [Array.prototype, "toSorted"],
  [AbortSignal, "any"],
  [globalThis, "BroadcastChannel"],
  [globalThis, "HTMLDialogElement"]
]

export const isSupported = (): boolean => needed.every(([owner, name]) => name in owner)

/** Shows the sentence of the page, with the command. */
export const showUnsupported = () => {
  const sentence = document.getElementById("unsupported")
  const command = sentence?.querySelector("code")
  if (!sentence || !command) return
  const { origin, pathname, search } = location
  command.textContent = `curl -H "Authorization: Bearer $API_KEY" ${apiUrlOf(origin, pathname + search)}`
  sentence.hidden = false
}
