// The second look before a send: network, relayer, every amount and every receiver, and what else was entered.
import { delegatesIn } from "../../data/Authorizations.ts"
import type { Unit } from "../../data/Amounts.ts"
import { writtenIn } from "../../data/FormFields.ts"
import type { Entered, Form, Json } from "../../data/FormFields.ts"
import { callsIn, movesOf } from "../../data/Moves.ts"
import type { Network } from "../../data/Networks.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { SignedAuthorization } from "../../parts/Authorizations.tsx"
import { CallList } from "../../parts/CallList.tsx"
import { Code } from "../../parts/Copy.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Facts } from "../../parts/Page.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"

const text = words.send

/** Fields that the review names by themselves, or that are lists of what it names. */
const reviewed: ReadonlySet<string> = new Set([
  "to",
  "value",
  "network",
  "instructions",
  "operations",
  "calls",
  "authorization_list"
])

/** What else is entered, as it is entered. */
export const othersOf = (form: Form, entered: Entered, native: Unit) =>
  writtenIn(form, entered, native).filter(([name]) => !reviewed.has(name))

/** The relayer's page says why. */
export const StateOf = ({ relayer }: { readonly relayer: Relayer }) => {
  if (!relayer.paused && !relayer.system_disabled) return null
  return (
    <p class="say warn" role="status">
      <Icon name="warn" size={17} />
      <span>{relayer.paused ? text.paused : text.disabled}</span>
    </p>
  )
}

/** A session that may not read networks does not see which kind it is. */
export const markOfNetwork = (network: Network | undefined) => {
  if (network === undefined) return mark("warn", text.unknownNetwork)
  return network.is_testnet ? mark("info", text.testnet) : mark("warn", text.mainnet)
}

interface ReviewProps {
  readonly relayer: Relayer
  readonly network: Network | undefined
  /** The body that is sent. */
  readonly body: Json
  readonly others: ReadonlyArray<readonly [name: string, value: string]>
  /** Absent: it was not simulated as it is entered now. */
  readonly most: bigint | undefined
  readonly unit: Unit
}

/** The second look: nobody sends to a main network, or to a wrong receiver, by one click. */
export const Review = ({ relayer, network, body, others, most, unit }: ReviewProps) => {
  const calls = callsIn(body)
  const moves = calls.length > 0 ? [] : movesOf(relayer.network_type, body, unit)
  const authorizations = delegatesIn(body["authorization_list"])
  return (
    <>
      <StateOf relayer={relayer} />
      <Facts
        facts={[
          [
            words.relayers.network,
            <>
              {relayer.network_type}:{relayer.network} <Tag {...markOfNetwork(network)} />
            </>
          ],
          [words.relayers.one, <bdi>{relayer.name}</bdi>],
          [text.from, <Code text={relayer.address} full />],
          [words.calls.one, calls.length > 0 && <CallList calls={calls} unit={unit} isWhole />],
          ...(moves.length === 0 && calls.length === 0 ? [[text.moves, text.unknownMoves] as const] : []),
          ...moves.flatMap(({ amount, unit, to }) => [
            [words.transactions.amount, amount !== undefined && <Amount value={amount} unit={unit} isExact />] as const,
            [
              words.transactions.receiver,
              to === undefined ? words.transaction.creation : <Code text={to} full />
            ] as const
          ]),
          ...authorizations.map(
            (one, index) =>
              [
                `${words.authorizations.one} ${index + 1}`,
                one === undefined ? words.authorizations.unread : <SignedAuthorization {...one} />
              ] as const
          ),
          [text.most, most !== undefined && <Amount value={most} unit={unit} isExact />],
          ...others.map(([name, value]) => [<code>{name}</code>, <bdi class="wrap">{value}</bdi>] as const)
        ]}
      />
      {authorizations.length > 0 && <p class="mut">{words.authorizations.anybody}</p>}
    </>
  )
}
