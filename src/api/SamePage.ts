// The same page without the console: the URL of the API that answers with what a page shows. Old browsers run this file, too.

/** Pages whose lists have another name in the API. */
const apiNames: Readonly<Record<string, string>> = { keys: "api-keys", webhooks: "notifications" }

/** Pages that are lists of the API, or one object of such a list. Every other page is answered by the list of relayers. */
const lists = ["relayers", "transactions", "webhooks", "events", "networks", "signers", "keys", "audit"]

/** A part of a path that means nothing to a shell or in HTML. Ids need no other characters, and a link may have any. */
const harmless = /^[\w.~:%-]+$/

/** Browsers also open hosts such as `$(id).localhost`, and a link may name one. */
const harmlessOrigin = /^https?:\/\/[\w.:[\]-]+$/

/** `address`: the path and the query of the page, such as `/console/relayers/payouts/policies`. */
export const apiUrlOf = (origin: string, address: string): string => {
  const [path = "", query = ""] = address.split("?")
  const [, , page = "", given = ""] = path.split("/")
  const id = harmless.test(given) ? given : ""
  const api = `${harmlessOrigin.test(origin) ? origin : ""}/api/v1`
  if (page === "transactions") {
    const relayer = encodeURIComponent(new URLSearchParams(query).get("relayer") || "")
    return id && harmless.test(relayer) ? `${api}/relayers/${relayer}/transactions/${id}` : `${api}/transactions`
  }
  if (lists.indexOf(page) < 0) return `${api}/relayers`
  return `${api}/${apiNames[page] || page}${id && `/${id}`}`
}
