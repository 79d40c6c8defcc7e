// The numbers of the overview: relayers by state, open transactions, and those that became final in the chosen period.
import { grouped } from "../../data/Amounts.ts"
import { relayerPage } from "../../data/Relayers.ts"
import { step } from "../../data/Times.ts"
import { isPeriod, periods, transactionStatistics } from "../../data/Transactions.ts"
import type { TransactionStatistics } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { SelectFilter } from "../../parts/Filters.tsx"
import { Plot, p95Lines, units } from "../../parts/Plot.tsx"
import type { Line } from "../../parts/Plot.tsx"
import { Age } from "../../parts/Time.tsx"
import { useQuery, useSearch } from "../../parts/useAtom.ts"

const text = words.overview

/** Milliseconds. Relayers change seldom: what stops one is in the list of what needs attention. */
const refreshed = 30_000
const seldom = 120_000

const useCount = (filter: string): string => {
  const { value } = useQuery(relayerPage(`${filter}${filter === "" ? "" : "&"}per_page=1`), seldom)
  return value?.total === undefined ? "–" : grouped(value.total)
}

const hrefOf = (filter: string) => (filter === "" ? "/console/relayers" : `/console/relayers?${filter}`)

const Count = ({ label, filter }: { readonly label: string; readonly filter: string }) => (
  <a class="l" href={hrefOf(filter)}>
    {useCount(filter)} {label}
  </a>
)

/** States other than healthy. A relayer may be counted in two of them: a paused one can be degraded. */
const states = [
  { label: text.disabled, filter: "state=disabled" },
  { label: text.failing, filter: "state=failing" },
  { label: text.waiting, filter: "state=waiting" },
  { label: text.degraded, filter: "state=degraded" },
  { label: text.paused, filter: "paused=true" }
]

export const RelayerCounts = () => (
  <section class="card pad stat" aria-label={text.relayers}>
    <div class="k">{text.relayers}</div>
    <div class="v">
      <a href="/console/relayers">{useCount("")}</a>
    </div>
    <div class="f counts">
      {states.map((state) => (
        <Count key={state.filter} {...state} />
      ))}
    </div>
  </section>
)

const Open = ({ open }: Pick<TransactionStatistics, "open">) => (
  <section class="card pad stat" aria-label={text.open}>
    <div class="k">{text.open}</div>
    <div class="v">
      {grouped(open.pending + open.in_flight)}
      {open.oldest_at !== undefined && (
        <small>
          {text.oldest} <Age at={open.oldest_at} />
        </small>
      )}
    </div>
    <div class="f counts">
      <a class="l" href="/console/transactions?held=true">
        {grouped(open.held)} {text.held}
      </a>
      <span>
        {grouped(open.in_flight)} {text.inFlight}
      </span>
    </div>
  </section>
)

type Steps = TransactionStatistics["steps"]

/** The newest step in which a transaction was confirmed. The last one has just begun. */
const newest = (steps: Steps) => steps.findLast(({ p95_ms }) => p95_ms !== undefined)

const Confirmation = ({ steps }: { readonly steps: Steps }) => {
  const { p50_ms, p95_ms } = newest(steps) ?? {}
  return (
    <section class="card pad stat" aria-label={text.confirmation}>
      <div class="k">{text.confirmation}</div>
      <div class="v">
        {p50_ms === undefined ? "–" : step(p50_ms)}
        {p95_ms !== undefined && <small>{text.p95(step(p95_ms))}</small>}
      </div>
      <div class="f">{p50_ms === undefined ? text.noneConfirmed : text.lastStep}</div>
    </section>
  )
}

const sumOf = (steps: Steps, count: (final: Steps[number]["final"]) => number) =>
  steps.reduce((sum, { final }) => sum + count(final), 0)

/** What was canceled ended as somebody wanted. */
const unsuccessful = ({ failed, expired }: Steps[number]["final"]) => failed + expired

const Final = ({ steps }: { readonly steps: Steps }) => (
  <section class="card pad stat" aria-label={text.final}>
    <div class="k">{text.final}</div>
    <div class="v">
      {grouped(sumOf(steps, ({ confirmed }) => confirmed))}
      <small>{text.confirmed}</small>
    </div>
    <div class="f counts">
      <span>
        {grouped(sumOf(steps, ({ failed }) => failed))} {text.failed}
      </span>
      <span>
        {grouped(sumOf(steps, ({ canceled, expired }) => canceled + expired))} {text.ended}
      </span>
    </div>
  </section>
)

const finals = (steps: Steps, label: string): ReadonlyArray<Line> => [
  {
    label,
    shape: "bars",
    color: "p4",
    values: steps.map(({ final }) => BigInt(final.confirmed + final.canceled + unsuccessful(final)))
  },
  {
    label: text.notConfirmed,
    shape: "bars",
    color: "p2",
    values: steps.map(({ final }) => BigInt(unsuccessful(final)))
  }
]

const longer = Object.keys(periods)
  .filter(isPeriod)
  .filter((period) => period !== "1h")
  .map((value) => ({ value, label: text.periods[value] }))

/** Of all instances. The counts of relayers need another scope. */
export const Statistics = ({ hasRelayers }: { readonly hasRelayers: boolean }) => {
  const { parameters } = useSearch()
  const asked = parameters.get("period")
  const period = isPeriod(asked) ? asked : "1h"
  const query = useQuery(transactionStatistics(period), refreshed)
  const { value } = query
  const positions = value?.steps.map(({ at }) => at.epochMilliseconds) ?? []
  return (
    <>
      <div class="grid g4">
        {hasRelayers && <RelayerCounts />}
        {value !== undefined && (
          <>
            <Open open={value.open} />
            <Confirmation steps={value.steps} />
            <Final steps={value.steps} />
          </>
        )}
      </div>
      <Block
        title={text.transactions}
        aside={<SelectFilter name="period" label={text.period} choices={longer} any={text.periods["1h"]} />}
        query={query}
        rows={6}
      >
        {({ steps }) => (
          <div class="grid g11">
            <Plot
              label={text.finals[period]}
              axis="time"
              positions={positions}
              unit={units.count}
              lines={finals(steps, text.finals[period])}
            />
            <Plot
              label={text.p95Line}
              axis="time"
              positions={positions}
              unit={units.seconds}
              lines={p95Lines(text.p95Line, steps)}
            />
          </div>
        )}
      </Block>
    </>
  )
}
