// The RPC providers of a network, as the last checks of its relayers found them.
import { grouped } from "../../data/Amounts.ts"
import { latency } from "../../data/Times.ts"
import { networkProviders } from "../../data/Networks.ts"
import type { NetworkProvider } from "../../data/Networks.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { Empty, List } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { Age } from "../../parts/Time.tsx"
import { useQuery } from "../../parts/useAtom.ts"
import { useEventsAbout } from "../../parts/useEvents.ts"

const text = words.networks

/** Milliseconds. */
const refreshed = 15_000

const markOf = ({ state, code }: NetworkProvider) => {
  if (state === "working") return mark("ok", text.states.working)
  return state === "failing" ? mark("bad", code ?? text.states.failing) : mark("off", text.states.unknown)
}

const columns: ReadonlyArray<Column<NetworkProvider>> = [
  { head: words.relayers.providerUrl, card: "title", cell: ({ url }) => <bdi class="wrap">{url}</bdi> },
  { head: text.state, card: "state", cell: (provider) => <Tag {...markOf(provider)} /> },
  { head: words.relayers.weight, isNumber: true, card: "hidden", cell: ({ weight }) => weight },
  {
    head: text.failed,
    isNumber: true,
    cell: ({ failing, relayers }) => (relayers === 0 ? "–" : text.of(grouped(failing), grouped(relayers)))
  },
  {
    head: words.relayers.since,
    isNumber: true,
    cell: ({ since }) => (since === undefined ? null : <Age at={since} />)
  },
  {
    head: text.latency,
    isNumber: true,
    cell: ({ p50_ms, p95_ms }) =>
      p50_ms === undefined || p95_ms === undefined ? "–" : text.latencies(latency(p50_ms), latency(p95_ms))
  },
  {
    head: text.checked,
    isNumber: true,
    cell: ({ checked_at }) => (checked_at === undefined ? "–" : <Age at={checked_at} />)
  },
  { head: words.relayers.problem, cell: ({ error }) => (error === undefined ? null : <bdi class="wrap">{error}</bdi>) }
]

export const Providers = ({ id }: { readonly id: string }) => {
  const query = useQuery(networkProviders(id), refreshed)
  useEventsAbout(({ type }) => type.startsWith("relayer."), query.refresh)
  return (
    <Block title={text.health} query={query}>
      {(providers) =>
        providers.length === 0 ? (
          <Empty text={text.noProvider} />
        ) : (
          <List label={text.health} columns={columns} rows={providers} keyOf={({ url }) => url} />
        )
      }
    </Block>
  )
}
