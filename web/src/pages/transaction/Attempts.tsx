// The signed versions of a transaction, the newest first.
import { exact, gwei } from "../../data/Amounts.ts"
import { explorerLink, isSecretHash, unitOf } from "../../data/Chains.ts"
import type { Network } from "../../data/Networks.ts"
import type { RelayerOfTransaction, Transaction } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { Code } from "../../parts/Copy.tsx"
import { ExternalLink } from "../../parts/ExternalLink.tsx"
import { Empty, List } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { At } from "../../parts/Time.tsx"

const text = words.transaction

type Attempt = NonNullable<Extract<Transaction, { readonly attempts?: unknown }>["attempts"]>[number]

interface Numbered {
  readonly ordinal: number
  readonly attempt: Attempt
}

interface Props {
  readonly transaction: Transaction
  readonly relayer: RelayerOfTransaction
  readonly network: Network | undefined
}

const hashOf = (attempt: Attempt) => ("hash" in attempt ? attempt.hash : attempt.signature)

const price = (value: bigint | undefined) => (value === undefined ? "–" : exact(value, gwei.decimals))

const kindText = (kind: string) => (kind === "noop" ? text.noop : kind)

const outcomeMark = (outcome: "unknown" | "accepted" | "refused") => {
  if (outcome === "accepted") return mark("ok", text.outcomes.accepted)
  return outcome === "refused" ? mark("bad", text.outcomes.refused) : mark("off", text.outcomes.unknown)
}

/** What nodes answered last: the class of a refusal, and what the node wanted at least. */
const Answer = ({ attempt }: { readonly attempt: Attempt }) => {
  if (!("outcome" in attempt) || attempt.outcome === undefined) return <>–</>
  const { outcome, refusal, sends = 0 } = attempt
  return (
    <>
      <Tag {...outcomeMark(outcome)} />{" "}
      {refusal !== undefined && (
        <>
          <code>{refusal.result ?? refusal.class}</code>
          {refusal.needed !== undefined && ` ${text.needed} ${refusal.needed}`}{" "}
        </>
      )}
      <span class="mut">{text.sends(sends)}</span>
    </>
  )
}

/** The version of the request, if it was replaced. */
const versionOf = (attempt: Attempt) =>
  "request_version" in attempt && attempt.request_version !== undefined && attempt.request_version > 1
    ? ` · ${text.version} ${attempt.request_version}`
    : ""

const columnsOf = ({ transaction, relayer, network }: Props): ReadonlyArray<Column<Numbered>> => {
  const unit = unitOf(relayer.network_type, relayer.network, network === undefined ? [] : [network])
  const route = "route" in transaction ? transaction.route : undefined
  const prices: ReadonlyArray<Column<Numbered>> =
    relayer.network_type === "evm"
      ? [
          {
            head: text.maxFee,
            isNumber: true,
            cell: ({ attempt }) =>
              "max_fee_per_gas" in attempt || "gas_price" in attempt
                ? price(attempt.max_fee_per_gas ?? attempt.gas_price)
                : "–"
          },
          {
            head: text.tip,
            isNumber: true,
            card: "hidden",
            cell: ({ attempt }) =>
              "max_priority_fee_per_gas" in attempt ? price(attempt.max_priority_fee_per_gas) : "–"
          }
        ]
      : [
          {
            head: text.mostFee,
            isNumber: true,
            cell: ({ attempt }) => ("max_fee" in attempt ? <Amount value={attempt.max_fee} unit={unit} /> : "–")
          }
        ]
  return [
    { head: "#", card: "hidden", cell: ({ ordinal }) => ordinal },
    { head: text.kind, card: "state", cell: ({ attempt }) => kindText(attempt.kind) + versionOf(attempt) },
    {
      head: text.hash,
      card: "title",
      cell: ({ attempt }) => {
        const hash = hashOf(attempt)
        const isSecret = route !== undefined && isSecretHash({ ...attempt, route })
        const link = isSecret ? undefined : explorerLink(network, hash)
        return (
          <>
            <Code text={hash} /> {link !== undefined && <ExternalLink href={link} label={text.explorer} />}
          </>
        )
      }
    },
    ...prices,
    { head: text.answer, cell: ({ attempt }) => <Answer attempt={attempt} /> },
    {
      head: text.sent,
      cell: ({ attempt }) => (attempt.sent_at === undefined ? text.notSent : <At at={attempt.sent_at} />)
    }
  ]
}

export const Attempts = (props: Props) => {
  const attempts = ("attempts" in props.transaction ? props.transaction.attempts : undefined) ?? []
  const rows = attempts.map((attempt, index) => ({ attempt, ordinal: index + 1 })).toReversed()
  return (
    <section class="card attempts" aria-label={text.attempts}>
      <h2>
        {text.attempts}
        <span class="x">{text.versions(rows.length)}</span>
      </h2>
      {rows.length === 0 ? (
        <Empty text={text.noAttempt} />
      ) : (
        <List label={text.attempts} columns={columnsOf(props)} rows={rows} keyOf={({ ordinal }) => ordinal} />
      )}
    </section>
  )
}
