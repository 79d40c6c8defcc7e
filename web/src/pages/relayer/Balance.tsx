// The balance of a relayer over the last week, and how long it lasts.
import type { Unit } from "../../data/Amounts.ts"
import { unitOf } from "../../data/Chains.ts"
import { networkList } from "../../data/Networks.ts"
import { relayerBalances } from "../../data/Relayers.ts"
import type { BalanceTrend, Relayer } from "../../data/Relayers.ts"
import { duration } from "../../data/Times.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { Block } from "../../parts/Block.tsx"
import { Empty } from "../../parts/List.tsx"
import { Plot } from "../../parts/Plot.tsx"
import type { Line } from "../../parts/Plot.tsx"
import { useQuery } from "../../parts/useAtom.ts"

const text = words.relayers

/** Milliseconds. The service stores one balance per hour, and the last one. */
const refreshed = 60_000

/** Milliseconds in a second. */
const second = 1_000

/** Milliseconds. */
const hour = 3_600_000

interface Drawn {
  readonly at: number
  readonly balance: bigint
}

/** The balance of an hour is that of its end. The hour of the last reading has not ended, and its balance is that of the reading. */
const drawnOf = ({ points }: BalanceTrend): ReadonlyArray<Drawn> => {
  const last = points.at(-1)?.at.epochMilliseconds ?? 0
  return points.flatMap(({ at, balance }, index) => {
    if (index === points.length - 1) return [{ at: last, balance }]
    const end = at.epochMilliseconds + hour
    return end < last ? [{ at: end, balance }] : []
  })
}

const linesOf = (points: ReadonlyArray<Drawn>, minimum: bigint | undefined): ReadonlyArray<Line> => [
  { label: text.balance, shape: "area", color: "p1", values: points.map(({ balance }) => balance) },
  ...(minimum === undefined
    ? []
    : [{ label: text.minBalance, shape: "limit", color: "p2", values: points.map(() => minimum) } as const])
]

interface TrendProps {
  readonly points: ReadonlyArray<Drawn>
  readonly unit: Unit
  readonly minimum: bigint | undefined
}

const Trend = ({ points, unit, minimum }: TrendProps) =>
  points.length < 2 ? (
    <Empty text={points.length === 0 ? text.noReading : text.noTrend} />
  ) : (
    <Plot
      label={text.balance}
      axis="time"
      positions={points.map(({ at }) => at)}
      unit={unit}
      lines={linesOf(points, minimum)}
    />
  )

export const RelayerBalance = ({ relayer }: { readonly relayer: Relayer }) => {
  const query = useQuery(relayerBalances(relayer.id), refreshed)
  const unit = unitOf(relayer.network_type, relayer.network, useQuery(networkList).value)
  const trend = query.value
  const last = trend?.points.at(-1)
  return (
    <Block
      title={text.balance}
      aside={
        last !== undefined && (
          <span>
            <Amount value={last.balance} unit={unit} />
            {trend?.runway_seconds !== undefined && ` · ${text.runway(duration(trend.runway_seconds * second))}`}
          </span>
        )
      }
      query={query}
      rows={6}
    >
      {(trend) => (
        <>
          <Trend points={drawnOf(trend)} unit={unit} minimum={relayer.policies?.min_balance} />
          {trend.spent_per_day !== undefined && (
            <p class="pad mut">
              {text.spentPerDay}: <Amount value={trend.spent_per_day} unit={unit} />
            </p>
          )}
        </>
      )}
    </Block>
  )
}
