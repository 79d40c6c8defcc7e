// The nonces or sequences of a relayer's account: what the service has recorded, next to what a provider says now, and what an operator can do about them.
import { useState } from "preact/hooks"
import { unitOf } from "../../data/Chains.ts"
import { networkList } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import {
  acceptChainCount,
  beginGeneration,
  relayerById,
  relayerExplanation,
  relayerNonces,
  releaseChannels
} from "../../data/Relayers.ts"
import type { Relayer, ShownSequences } from "../../data/Relayers.ts"
import { may, sessionState } from "../../data/Session.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { Block } from "../../parts/Block.tsx"
import { Code } from "../../parts/Copy.tsx"
import { useQuestion } from "../../parts/Dialog.tsx"
import type { Question } from "../../parts/Dialog.tsx"
import { Empty, List } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { Facts } from "../../parts/Page.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import type { Tone } from "../../parts/Tag.tsx"
import { At } from "../../parts/Time.tsx"
import { useAtom, useQuery } from "../../parts/useAtom.ts"
import { ClearNonces } from "./ClearNonces.tsx"

const text = words.nonces

type Stellar = Extract<ShownSequences, { readonly channels: unknown }>

type Evm = Extract<ShownSequences, { readonly next_nonce: number }>

type Channel = Stellar["channels"][number]

const isEvm = (state: ShownSequences): state is Evm => "next_nonce" in state

const isStellar = (state: ShownSequences): state is Stellar => "channels" in state

type Fact = readonly [name: string, value: string | number | undefined]

const ofEvm = (state: Evm): ReadonlyArray<Fact> => [
  [text.next, state.next_nonce],
  [text.known, state.known_count],
  [text.chain, state.chain_count ?? text.noAnswer],
  [text.pool, state.chain_pending_count ?? text.noAnswer],
  [text.settled, state.settled_nonce],
  [text.oldest, state.oldest_open_nonce],
  [text.inFlight, state.window === undefined ? state.in_flight : text.of(state.in_flight, state.window)]
]

const ofStellar = (state: Stellar): ReadonlyArray<Fact> => [
  [text.next, state.next_sequence.toString()],
  [text.known, state.used_sequence.toString()],
  [text.chain, state.chain_sequence?.toString() ?? text.noAnswer],
  [text.ledger, state.chain_ledger],
  [text.oldest, state.oldest_open_sequence?.toString()],
  [text.inFlight, state.in_flight]
]

const factsOf = (state: ShownSequences): ReadonlyArray<Fact> => {
  if (isEvm(state)) return ofEvm(state)
  return isStellar(state) ? ofStellar(state) : [[text.inFlight, state.in_flight]]
}

const stages: Readonly<Record<Channel["stage"], Tone>> = { creating: "info", ready: "ok", draining: "warn" }

const channelColumns: ReadonlyArray<Column<Channel>> = [
  { head: text.channel, card: "title", cell: ({ address }) => <Code text={address} /> },
  { head: text.stage, card: "state", cell: ({ stage }) => <Tag {...mark(stages[stage], text.stages[stage])} /> },
  { head: text.next, isNumber: true, cell: ({ next_sequence }) => next_sequence.toString() },
  { head: text.chain, isNumber: true, cell: ({ chain_sequence }) => chain_sequence?.toString() ?? text.noAnswer },
  {
    head: words.transactions.one,
    cell: ({ transaction_id }) =>
      transaction_id === undefined ? null : (
        <a href={`/console/transactions/${encodeURIComponent(transaction_id)}`}>{transaction_id}</a>
      )
  }
]

const Channels = ({ state, relayer }: { readonly state: Stellar; readonly relayer: Relayer }) => (
  <section class="card" aria-label={text.channels}>
    <h2>
      {text.channels}
      <span class="x">
        {text.locked} <Amount value={state.locked_by_channels} unit={unitOf(relayer.network_type, undefined, [])} />
      </span>
    </h2>
    {state.channels.length === 0 ? (
      <Empty text={text.noChannel} />
    ) : (
      <List label={text.channels} columns={channelColumns} rows={state.channels} keyOf={({ address }) => address} />
    )}
  </section>
)

const refreshAll = (id: string) => refresh(relayerNonces(id), relayerById(id), relayerExplanation(id))

const questionsOf = ({ id, network_type }: Relayer) => ({
  accept: {
    title: text.acceptTitle,
    text: network_type === "stellar" ? text.acceptSequenceText : text.acceptText,
    action: text.acceptAction,
    isDangerous: true,
    act: () => act(acceptChainCount(id)).finally(() => refreshAll(id))
  } satisfies Question,
  generation: {
    title: text.generationTitle,
    text: text.generationText,
    action: text.generationAction,
    isDangerous: true,
    typed: id,
    act: () => act(beginGeneration(id)).finally(() => refreshAll(id))
  } satisfies Question,
  release: {
    title: text.releaseTitle,
    text: text.releaseText,
    action: text.releaseAction,
    isDangerous: true,
    typed: id,
    act: () => act(releaseChannels(id)).finally(() => refreshAll(id))
  } satisfies Question
})

const Actions = ({ relayer, state }: { readonly relayer: Relayer; readonly state: ShownSequences }) => {
  const session = useAtom(sessionState)
  const [dialog, ask] = useQuestion()
  const [isClearing, setClearing] = useState(false)
  const networks = useQuery(networkList).value
  const isTest = networks?.some(
    ({ name, network_type, is_testnet }) =>
      is_testnet && name === relayer.network && network_type === relayer.network_type
  )
  if (!may(session, "transactions:write")) return null
  const { accept, generation, release } = questionsOf(relayer)
  const mayRelease = isStellar(state) && state.channels.length > 0 && may(session, "relayers:write")
  return (
    <div class="do pad">
      <button class="btn" type="button" onClick={() => ask(accept)}>
        {text.accept}
      </button>
      {isEvm(state) && (
        <button class="btn" type="button" onClick={() => setClearing(true)}>
          {text.clear}
        </button>
      )}
      {mayRelease && (
        <button class="btn d" type="button" onClick={() => ask(release)}>
          {text.release}
        </button>
      )}
      {isTest === true && (
        <button class="btn d" type="button" onClick={() => ask(generation)}>
          {text.generation}
        </button>
      )}
      {dialog}
      {isClearing && isEvm(state) && (
        <ClearNonces
          relayer={relayer.id}
          first={state.oldest_open_nonce ?? state.settled_nonce}
          onClose={() => {
            setClearing(false)
            refreshAll(relayer.id)
          }}
        />
      )}
    </div>
  )
}

export const RelayerNonces = ({ details: { value: relayer } }: { readonly details: Versioned<Relayer> }) => {
  const query = useQuery(relayerNonces(relayer.id))
  const state = query.value
  return (
    <div class="grid">
      <Block
        title={relayer.network_type === "stellar" ? words.relayers.sequences : words.relayers.nonces}
        aside={
          <>
            {text.sub}
            <button class="btn s" type="button" onClick={query.refresh}>
              {words.relayers.ask}
            </button>
          </>
        }
        query={query}
      >
        {(state) => (
          <>
            <div class="pad">
              <Facts
                facts={[
                  ...factsOf(state),
                  [text.waiting, state.pending],
                  [text.generations, state.generation],
                  [words.relayers.code, state.code !== undefined && <code>{state.code}</code>],
                  [words.relayers.since, state.code_since !== undefined && <At at={state.code_since} />]
                ]}
              />
            </div>
            <Actions relayer={relayer} state={state} />
          </>
        )}
      </Block>
      {state !== undefined && isStellar(state) && <Channels state={state} relayer={relayer} />}
    </div>
  )
}
