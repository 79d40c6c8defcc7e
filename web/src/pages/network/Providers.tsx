// The RPC providers of a network, as the last checks of its relayers found them, and what they can do, which they are asked on demand.
import { useState } from "preact/hooks"
import { grouped } from "../../data/Amounts.ts"
import { latency } from "../../data/Times.ts"
import type { Failure } from "../../data/Failure.ts"
import { askProviders, networkProviders } from "../../data/Networks.ts"
import type { NetworkProvider } from "../../data/Networks.ts"
import { act } from "../../data/Registry.ts"
import { words } from "../../words.ts"
import { Block, Failed } from "../../parts/Block.tsx"
import { Empty, List, WithProblem } from "../../parts/List.tsx"
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
  {
    head: words.relayers.providerUrl,
    card: "title",
    cell: ({ url, error }) => <WithProblem text={url} problem={error} />
  },
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
  }
]

const said = (words: ReadonlyArray<string>, value: boolean | undefined) =>
  value === undefined ? undefined : words[Number(value)]

/** What a provider did not say is left out. */
const abilitiesOf = (provider: NetworkProvider): ReadonlyArray<string> =>
  [
    provider.batch_size === undefined ? undefined : text.calls(grouped(provider.batch_size)),
    said(text.finalized, provider.finalized),
    said(text.feeHistory, provider.fee_history),
    said(text.archive, provider.archive),
    provider.client_version
  ].filter((ability) => ability !== undefined)

/** `asked`: the providers as they answered a person. */
const columnsWith = (asked: ReadonlyArray<NetworkProvider>): ReadonlyArray<Column<NetworkProvider>> => [
  ...columns,
  {
    head: text.abilities,
    cell: ({ url }) => {
      const answer = asked.find((provider) => provider.url === url)
      const abilities = answer === undefined ? [] : abilitiesOf(answer)
      return abilities.length === 0 ? "–" : <bdi class="wrap">{abilities.join(" · ")}</bdi>
    }
  }
]

export const Providers = ({ id }: { readonly id: string }) => {
  const query = useQuery(networkProviders(id), refreshed)
  const [asked, setAsked] = useState<ReadonlyArray<NetworkProvider>>([])
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  useEventsAbout(({ type }) => type.startsWith("relayer."), query.refresh)
  const onAsk = async () => {
    if (isBusy) return
    setBusy(true)
    const outcome = await act(askProviders(id))
    setBusy(false)
    setFailure(outcome.ok ? undefined : outcome.failure)
    if (outcome.ok) setAsked(outcome.value)
  }
  return (
    <Block
      title={text.health}
      aside={
        <button class="btn s" type="button" aria-disabled={isBusy} onClick={onAsk}>
          {text.ask}
        </button>
      }
      query={query}
    >
      {(providers) => (
        <>
          {failure !== undefined && <Failed failure={failure} />}
          {providers.length === 0 ? (
            <Empty text={text.noProvider} />
          ) : (
            <List label={text.health} columns={columnsWith(asked)} rows={providers} keyOf={({ url }) => url} />
          )}
        </>
      )}
    </Block>
  )
}
