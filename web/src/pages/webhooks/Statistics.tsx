// How a receiver does: what waits, since when it fails, and how fast it accepts.
import { grouped } from "../../data/Amounts.ts"
import { step } from "../../data/Times.ts"
import { webhookStatistics } from "../../data/Webhooks.ts"
import type { DeliveryStatistics } from "../../data/Webhooks.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { Facts } from "../../parts/Page.tsx"
import { Plot, p95Lines, units } from "../../parts/Plot.tsx"
import type { Line } from "../../parts/Plot.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { Age, At, Until } from "../../parts/Time.tsx"
import { useQuery } from "../../parts/useAtom.ts"

const text = words.webhooks

/** Milliseconds. */
const refreshed = 15_000

type Steps = DeliveryStatistics["steps"]

const perMinute = (steps: Steps): ReadonlyArray<Line> => [
  { label: text.states.delivered, shape: "bars", color: "p4", values: steps.map((step) => BigInt(step.delivered)) },
  { label: text.states.failed, shape: "bars", color: "p2", values: steps.map(({ failed }) => BigInt(failed)) },
  { label: text.states.pending, shape: "line", color: "p1", values: steps.map(({ pending }) => BigInt(pending)) }
]

const total = (steps: Steps, name: "delivered" | "failed") => steps.reduce((sum, step) => sum + step[name], 0)

const Numbers = ({ statistics }: { readonly statistics: DeliveryStatistics }) => {
  const { steps, complete, pending, oldest_pending_at, gives_up_at, failing_since } = statistics
  return (
    <div class="pad">
      <Facts
        facts={[
          [
            text.acceptance,
            failing_since === undefined ? (
              <Tag {...mark("ok", text.accepts)} />
            ) : (
              <>
                <Tag {...mark("bad", text.failing)} /> <Age at={failing_since} />
              </>
            )
          ],
          [text.states.delivered, grouped(total(steps, "delivered"))],
          [text.states.failed, grouped(total(steps, "failed"))],
          [text.waitingNow, grouped(pending)],
          [text.oldest, oldest_pending_at !== undefined && <At at={oldest_pending_at} />],
          [text.givesUp, gives_up_at !== undefined && <Until at={gives_up_at} />],
          [text.counts, !complete && text.incomplete]
        ]}
      />
    </div>
  )
}

export const WebhookStatistics = ({ id }: { readonly id: string }) => {
  const query = useQuery(webhookStatistics(id), refreshed)
  return (
    <Block title={text.statistics} query={query} rows={6}>
      {(statistics) => {
        const positions = statistics.steps.map(({ at }) => at.epochMilliseconds)
        return (
          <>
            <Numbers statistics={statistics} />
            <div class="grid g11">
              <Plot
                label={text.perMinute}
                axis="time"
                positions={positions}
                unit={units.count}
                lines={perMinute(statistics.steps)}
              />
              <Plot
                label={text.p95}
                axis="time"
                positions={positions}
                unit={units.seconds}
                lines={p95Lines(text.p95, statistics.steps)}
              />
            </div>
          </>
        )
      }}
    </Block>
  )
}

/** The slowest minute of the last hour, by the time in which 95 % were accepted. */
const slowest = (steps: Steps): number | undefined =>
  steps.reduce<number | undefined>(
    (most, { p95_ms }) => (p95_ms !== undefined && (most === undefined || p95_ms > most) ? p95_ms : most),
    undefined
  )

/** The deliveries of the last hour that ended so. */
export const WebhookCount = ({ id, of }: { readonly id: string; readonly of: "delivered" | "failed" }) => {
  const { value } = useQuery(webhookStatistics(id))
  return <>{value === undefined ? "–" : grouped(total(value.steps, of))}</>
}

/** One line of a list of receivers. `every`: milliseconds between two requests; absent: it is asked for once. */
export const WebhookHealth = ({ id, every }: { readonly id: string; readonly every?: number }) => {
  const { value } = useQuery(webhookStatistics(id), every)
  if (value === undefined) return <>–</>
  const { failing_since, pending, steps } = value
  const most = slowest(steps)
  return (
    <>
      {failing_since === undefined ? (
        <Tag {...mark("ok", text.accepts)} />
      ) : (
        <>
          <Tag {...mark("bad", text.failing)} /> <Age at={failing_since} />
        </>
      )}
      {pending > 0 && ` · ${text.waiting(grouped(pending))}`}
      {most !== undefined && <span class="mut"> · p95 {step(most)}</span>}
    </>
  )
}
