// The user whose authorizations requests carry, and a stranger who uses them: what the chain has of the account, block by block.
import { assert } from "@effect/vitest"
import { isFinal, newestRequest } from "../../../../../src/networks/core/Transaction.ts"
import { codeOf, isDelegated } from "../../../../../src/networks/evm/rules/Authorizations.ts"
import type { AuthorityState, SignedAuthorization } from "../../../../../src/networks/evm/rules/Authorizations.ts"
import { headOf } from "../../../../../src/testkit/chain/Blocks.ts"
import type { Chain, World } from "./World.ts"

const user = `0x${"a1".repeat(20)}`

/** What the user wants to run, and what a stranger makes the account run instead. */
const wanted = `0x${"de".repeat(20)}`
const other = `0x${"0b".repeat(20)}`

const entryOf = (nonce: number): SignedAuthorization => ({
  chainId: 31_337,
  address: wanted,
  nonce,
  yParity: 0,
  r: `0x${"1".repeat(64)}`,
  s: `0x${"2".repeat(64)}`,
  authority: user
})

/** The account after these blocks: an entry with another nonce than the next one is skipped. */
const userIn = ({ uses }: Pick<World, "uses">, chain: Chain) => {
  let count = 0
  let code = "0x"
  for (const { number, transactions } of chain) {
    for (const height of uses) {
      if (height !== number) continue
      count += 1
      code = codeOf({ address: other })
    }
    for (const { bytes } of transactions) {
      if (bytes.entry?.nonce !== count) continue
      count += 1
      code = codeOf(bytes.entry)
    }
  }
  return { count, code }
}

/** What one provider says of it, and what another one confirms: without that, a used nonce is not known. */
export const stateOf = (world: World, first: Chain, second: Chain, { nonce }: SignedAuthorization): AuthorityState => {
  const seen = userIn(world, first)
  const isProven = !world.hasSecond || seen.count <= nonce || userIn(world, second).count > nonce
  return isProven ? { ...seen, isRelayer: false } : { code: seen.code, isRelayer: false }
}

/** Whether the delegation is there at a height. */
export const delegatedAt = (world: World, chain: Chain, height: number, entry: SignedAuthorization): boolean =>
  isDelegated(entry, userIn(world, chain.slice(0, height + 1)).code)

/** A stranger has the entry mined, or the user sends something: the next block has it. */
export const use = (world: World): void => {
  world.uses = [...world.uses, headOf(world.chain).number + 1]
}

/** The user gets as far as the entry that waits for it. */
export const catchUp = (world: World): void => {
  const { count } = userIn(world, world.chain)
  const isWaiting = world.ledger.transactions.some(
    (transaction) => !isFinal(transaction) && listOf(transaction)?.some(({ nonce }) => nonce > count)
  )
  if (isWaiting) use(world)
}

/** The list of a new request: with the next nonce of the user, or one too early. Undefined: another open request has one. */
export const newList = (world: World, ahead: number): ReadonlyArray<SignedAuthorization> | undefined => {
  const isOpen = world.ledger.transactions.some(
    (transaction) =>
      !isFinal(transaction) && transaction.versions.some(({ authorization_list: list }) => list !== undefined)
  )
  return isOpen ? undefined : [entryOf(userIn(world, world.chain).count + ahead)]
}

/** What is shown of a transaction that the lasting chain has is true there. Nobody promises it of a provider that lied. */
export const checkDelegations = (world: World): void => {
  if (world.hasForked) return
  for (const transaction of world.ledger.transactions) {
    const { attempts, mined, state } = transaction
    const attempt = attempts.find(({ ordinal }) => ordinal === mined?.ordinal)
    const version = attempt === undefined ? undefined : transaction.versions[attempt.requestVersion - 1]
    const [entry] = version?.authorization_list ?? []
    const delegated = mined?.receipt.details.delegated
    if (!isFinal(transaction) || entry === undefined || mined === undefined || attempt?.kind === "noop") continue
    const isUnknown = world.isPruned && delegated?.[0] === null
    if (!isUnknown) assert.deepStrictEqual(delegated, [delegatedAt(world, world.chain, mined.receipt.height, entry)])
    const isInVain = transaction.cause?.code === "authorization_without_effect"
    assert.strictEqual(isInVain, state === "confirmed" && delegated?.[0] === false)
  }
}

/** Whether the newest version carries an authorization. */
export const listOf = (transaction: World["ledger"]["transactions"][number]) =>
  newestRequest(transaction).authorization_list
