// The balance of a relayer over the last week, and how long it lasts.
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

/** The balance of an hour is that of its end, and the last one is that of its reading. */
const positionsOf = ({ points }: BalanceTrend): ReadonlyArray<number> => {
  const last = points.at(-1)?.at.epochMilliseconds ?? 0
  return points.map(({ at }, index) =>
    index === points.length - 1 ? last : Math.min(at.epochMilliseconds + hour, last)
  )
}

const linesOf = ({ points }: BalanceTrend, minimum: bigint | undefined): ReadonlyArray<Line> => [
  { label: text.balance, shape: "area", color: "p1", values: points.map(({ balance }) => balance) },
  ...(minimum === undefined
    ? []
    : [{ label: text.minBalance, shape: "limit", color: "p2", values: points.map(() => minimum) } as const])
]

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
          {trend.points.length < 2 ? (
            <Empty text={trend.points.length === 0 ? text.noReading : text.noTrend} />
          ) : (
            <Plot
              label={text.balance}
              axis="time"
              positions={positionsOf(trend)}
              unit={unit}
              lines={linesOf(trend, relayer.policies?.min_balance)}
            />
          )}
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
