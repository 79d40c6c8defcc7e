// Whether this browser has what the console needs, and what a person can use instead. It runs before everything else, also in old browsers.

/** The newest of what the console uses, each with the object that has it. Browsers since autumn 2024 have all. */
const needed: ReadonlyArray<readonly [owner: object, name: string]> = [
  [URL, "parse"],
  [Array.prototype, "toSorted"],
  [AbortSignal, "any"],
  [globalThis, "BroadcastChannel"],
  [globalThis, "HTMLDialogElement"]
]

export const isSupported = (): boolean => needed.every(([owner, name]) => name in owner)

/** Pages whose lists have another name in the API. */
const apiNames: Readonly<Record<string, string>> = { keys: "api-keys", webhooks: "notifications" }

/** Pages that are lists of the API, or one object of such a list. Every other page is answered by the list of relayers. */
const lists = ["relayers", "transactions", "webhooks", "events", "networks", "signers", "keys", "audit"]

/** The command that reads what the page at the address shows. */
const curlOf = (address: Pick<Location, "origin" | "pathname">): string => {
  const [, , page = "", ...rest] = address.pathname.split("/")
  const isListed = lists.indexOf(page) >= 0
  const name = apiNames[page] || page
  const path = isListed ? [name].concat(page === "transactions" ? [] : rest.slice(0, 1)).join("/") : "relayers"
  return `curl -H "Authorization: Bearer $API_KEY" ${address.origin}/api/v1/${path}`
}

/** Shows the sentence of the page, with the command. */
export const showUnsupported = () => {
  const sentence = document.getElementById("unsupported")
  const command = sentence?.querySelector("code")
  if (!sentence || !command) return
  command.textContent = curlOf(location)
  sentence.hidden = false
}
