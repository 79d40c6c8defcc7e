// What an import of rrelayer is given: its options, and the list of its relayers, which is in its database and not in its configuration.
import type * as Imported from "../Imported.ts"
import { fields } from "../Source.ts"
import type { Fields } from "../Source.ts"

export interface Options {
  readonly keepPausedState: boolean
  /** Environment variables of this machine. They are only compared with the list, and never written. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

export interface Input extends Imported.Context, Options {
  /** Names that the document uses once per thing, such as a variable per public key, with what each stands for. */
  readonly names: Map<string, string>
}

export interface Listed {
  /** Place in the input: `relayers.0`. */
  readonly at: string
  readonly id: string
  readonly name: string
  readonly chainId: number
  /** In lower case. */
  readonly address: string
  readonly walletIndex: number
  readonly clonedFromChainId: number | undefined
  readonly maxGasPrice: unknown
  readonly usesEip1559: boolean
  readonly isPaused: boolean
}

const integer = (source: Fields, name: string): number | undefined => {
  const value = Number(source.take(name))
  return Number.isSafeInteger(value) ? value : undefined
}

const read = (value: unknown, at: string, { report }: Imported.Context): Listed | undefined => {
  const source = fields(value, at, report)
  const chainId = integer(source, "chainId")
  const walletIndex = integer(source, "walletIndex")
  const cloned = source.take("clonedFromChainId")
  source.take("createdAt")
  source.take("isPrivateKey")
  const listed = {
    at,
    id: source.required("id"),
    name: source.required("name"),
    chainId: chainId ?? 0,
    address: source.required("address").toLowerCase(),
    walletIndex: walletIndex ?? 0,
    clonedFromChainId: cloned === undefined ? undefined : Number(cloned),
    maxGasPrice: source.take("maxGasPrice"),
    usesEip1559: source.take("eip1559Enabled") !== false,
    isPaused: source.take("paused") === true
  }
  source.end()
  if (chainId === undefined || walletIndex === undefined) {
    report.add(at, "invalid", `expected chainId and walletIndex: ${report.leftOut("the relayer")}`)
    return undefined
  }
  return listed
}

/** Reads the answer of the list endpoint, or its items. A page that is not the last one is refused. */
export const readList = (value: unknown, context: Imported.Context): ReadonlyArray<Listed> => {
  const items = (() => {
    if (Array.isArray(value)) return value
    const source = fields(value, "relayers", context.report)
    if (source.take("next") !== undefined) {
      context.report.add("relayers.next", "invalid", "the list is not complete: read the further pages")
    }
    source.take("previous")
    const found = source.list("items")
    if (source.take("items") === undefined) {
      context.report.add("relayers.items", "invalid", "is required: expected the answer of the list of relayers")
    }
    source.end()
    return found
  })()
  return items.map((item, index) => read(item, `relayers.${index}`, context)).filter((found) => found !== undefined)
}
