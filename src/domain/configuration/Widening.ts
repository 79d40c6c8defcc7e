// Which changes allow more than before. A plan marks them, because a reviewer should see them first.
import { finalityByOneOf } from "../network/NetworkFields.ts"
import type { Change } from "./Comparison.ts"
import type { Kind } from "./Kinds.ts"

const lastOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** Upper limits: a higher one, or none, allows more. */
const caps: ReadonlySet<string> = new Set([
  "gas_price_cap",
  "max_fee",
  "max_allowed_fee_lamports",
  "max_lamports_out",
  "tip_cap",
  "slippage_percentage",
  "max_value",
  "max_fee_per_day",
  "max_allowed_fee"
])

/** Lists of what is allowed: a longer one, or none, allows more. */
const allowed = /^(whitelist_receivers|receivers|relayer_ids|allowed_\w+)$/

/** Lists of what else is allowed: a longer one allows more, and none allows nothing. */
const granted = /^(scopes|authority_programs)$/

/** Lists of what is allowed, without which only a few things are, or none. */
const grantedIfListed = /^allowed_(tokens|extensions|operations)$/

const forbidden = /^disallowed_\w+$/

/** Fields of which every change decides about funds. */
const always = /(^|\.)(fee_payer_as_authority|price_source|price_bounds|channels|chain_id|passphrase|expires_at)(\.|$)/

/** Integers are compared exactly, because amounts exceed 2^53. A value of a variable is not shown, and may be greater. */
const isGreater = (one: string, other: string): boolean => {
  const isExact = /^\d+$/.test(one) && /^\d+$/.test(other)
  return isExact ? BigInt(one) > BigInt(other) : !(Number(one) <= Number(other))
}

const isHigher = ({ before, after }: Change): boolean =>
  before !== undefined && (after === undefined || isGreater(after, before))

const isLower = ({ before, after }: Change): boolean =>
  after !== undefined && (before === undefined || isGreater(before, after))

/** A network without the field decides after its default time. */
const decidesSooner = ({ before, after }: Change): boolean => {
  const millisOf = (text: string | undefined): number => {
    const found = finalityByOneOf(text === undefined ? {} : { finality_by_one: text })
    return found === "never" ? Infinity : found
  }
  return millisOf(after) < millisOf(before)
}

/** A list that is removed as a whole has the text before it and none after it. */
const isListGone = ({ before, after, added }: Change): boolean =>
  before !== undefined && after === undefined && added === undefined

const isMore = ({ added }: Change): boolean => added !== undefined && added.length > 0

const isListNew = ({ before, after, added }: Change): boolean =>
  before === undefined && after !== undefined && added === undefined

/** A token that users may pay with, which was not in the list. */
const newToken = /(^|\.)allowed_tokens\.[^.]+$/

export const allowsMore = (kind: Kind, change: Change): boolean => {
  const { path, before, after, removed } = change
  const name = lastOf(path)
  if (always.test(path)) return true
  if (newToken.test(path) && before === undefined) return true
  if (caps.has(name)) return isHigher(change)
  if (forbidden.test(name)) return isListGone(change) || (removed !== undefined && removed.length > 0)
  if (grantedIfListed.test(name) && isListNew(change)) return true
  if (allowed.test(name)) return isMore(change) || isListGone(change)
  if (granted.test(name)) return isMore(change) || isListNew(change)
  if (name === "finality_by_one") return decidesSooner(change)
  if (name === "required_confirmations") return isLower(change)
  if (name === "paused") return before === "true" && after === "false"
  return kind === "notifications" && name === "url"
}
