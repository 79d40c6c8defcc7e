// URLs of OpenZeppelin Relayer: texts, objects of URL and weight, and variables.
import { isMembers } from "../../../domain/configuration/Document.ts"
import { looksLikeKey, variableName } from "../../../domain/configuration/Reference.ts"
import { needOf } from "../Hosts.ts"
import { variablesIn } from "../Imported.ts"
import type * as Imported from "../Imported.ts"
import { wholeVariable } from "../Secrets.ts"
import { fields, path as at } from "../Source.ts"

/** The variable of `{type: env, value: NAME}`, which some versions take in the place of a URL. */
const variableOf = (value: unknown): string | undefined =>
  isMembers(value) && value["type"] === "env" && typeof value["value"] === "string" ? value["value"] : undefined

/** URLs that are no secrets, as texts. */
export const texts = (values: unknown): unknown =>
  Array.isArray(values)
    ? values.map((value: unknown) => {
        const variable = variableOf(value)
        return variable === undefined ? value : `\${${variable}}`
      })
    : values

interface RpcUrls {
  readonly urls: ReadonlyArray<object>
  /** The place in the input of a field of the document: entries of the input may be left out, and may be texts. */
  readonly placeOf: (field: string) => string
}

const isHttp = /^https?:/i

/** User information that ends with a variable, which is the password. */
const passwordOfVariable = /\/\/[^/?#@]*\$\{\w+\}@/u

const variable = /\$\{\w+\}/gu

/** What is written in the URL itself: short words stand for its variables. */
const literalOf = (url: string): string => url.replace(passwordOfVariable, "//").replaceAll(variable, "x")

/** URLs as objects. One that looks as if it contains a key moves into the secrets file. */
export const rpcUrls = (
  values: ReadonlyArray<unknown>,
  place: string,
  nameParts: ReadonlyArray<string>,
  { report, secrets }: Imported.Context
): RpcUrls => {
  const kept: Array<number> = []
  const urls = values.flatMap((value, index): ReadonlyArray<object> => {
    const here = `${place}.${index}`
    if (typeof value !== "string" && !isMembers(value)) {
      report.add(here, "invalid", "expected a URL, or an object of url and weight: left out")
      return []
    }
    const variable = variableOf(value)
    if (variable !== undefined && !variableName.test(variable)) {
      report.add(here, "invalid", "expected the name of a variable: letters, digits and underscores; left out")
      return []
    }
    if (variable !== undefined) {
      secrets.need(variable)
      kept.push(index)
      return [{ url: { env: variable }, weight: 100 }]
    }
    const source = typeof value === "string" ? undefined : fields(value, here, report)
    const url = typeof value === "string" ? value : source?.text("url")
    const weight = source?.take("weight") ?? 100
    source?.end()
    if (url === undefined) {
      report.add(here, "invalid", "has no url; the old service ignores such an entry: left out")
      return []
    }
    kept.push(index)
    const whole = wholeVariable(url)
    if (whole !== undefined) {
      secrets.need(whole)
      return [{ url: { env: whole }, weight }]
    }
    const need = needOf(url)
    if (need !== undefined) report.add(here, "needs", need)
    // A URL that is refused is not quoted, and not written.
    if (!looksLikeKey(literalOf(url)) || !isHttp.test(url)) return [{ url, weight }]
    if (variablesIn(url).length > 0) {
      report.add(
        here,
        "needs",
        "looks like it contains a key beside a variable: put the key into a variable, too; left out"
      )
      kept.pop()
      return []
    }
    const moved = secrets.move([...nameParts, "rpc_url", index + 1], url)
    const exact = source === undefined ? here : at(here, "url")
    report.add(exact, "note", `looks like it contains a key: moved to ${moved} in the secrets file`)
    return [{ url: { env: moved }, weight }]
  })
  const placeOf = (field: string) =>
    field.replace(/^((?:custom_)?rpc_urls)\.(\d+)(\.url)?/, (_, name: string, at: string, url = "") => {
      const index = kept[Number(at)] ?? Number(at)
      return `${name}.${index}${typeof values[index] === "string" ? "" : url}`
    })
  return { urls, placeOf }
}
