// Sends a transaction through a relayer: a form from the schema of its network type, and beside it what would happen.
import type { Effect } from "effect"
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import { bodyOf } from "../data/FormFields.ts"
import type { Entered, Problems } from "../data/FormFields.ts"
import { forms } from "../data/Forms.ts"
import { unitOf } from "../data/Chains.ts"
import type { Unit } from "../data/Amounts.ts"
import { networkList } from "../data/Networks.ts"
import { act } from "../data/Registry.ts"
import { relayerById } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
import { isSending, sendTransaction, simulateTransaction } from "../data/Transactions.ts"
import type { SendingType } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Amount } from "../parts/Amount.tsx"
import { Bars, Failed, Loaded } from "../parts/Block.tsx"
import { Curl } from "../parts/Curl.tsx"
import { SchemaForm } from "../parts/Form.tsx"
import { Empty } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { refusedFields } from "../parts/Patch.tsx"
import { Tree } from "../parts/Tree.tsx"
import { useAnswered, useQuery } from "../parts/useAtom.ts"
import { Writes } from "../parts/Writes.tsx"

const text = words.send

const formNames: Readonly<Record<SendingType, string>> = {
  evm: "SendEvmTransactionRequest",
  solana: "SendSolanaTransactionRequest",
  stellar: "SendStellarTransactionRequest"
}

interface Props {
  readonly relayer: Relayer
  readonly type: SendingType
}

const SendForm = ({ relayer, type }: Props) => {
  const { route } = useLocation()
  const native = unitOf(relayer.network_type, relayer.network, useQuery(networkList).value)
  const form = forms[formNames[type]] ?? []
  // A send of stellar names the network of its relayer, so that nobody has to type it.
  const [entered, setEntered] = useState<Entered>(
    form.some(({ name }) => name === "network") ? { network: relayer.network } : {}
  )
  const [problems, setProblems] = useState<Problems>({})
  const [failure, setFailure] = useState<Failure>()
  const [simulation, setSimulation] = useState<Simulated>()
  const [isBusy, setBusy] = useState(false)
  /** The same for each try of this form, so that a second click sends nothing twice. */
  const [key, renewKey] = useState(() => crypto.randomUUID())
  const made = bodyOf(form, entered, native)

  const refused = (failure: Failure) => {
    setFailure(failure)
    if (failure.status === 400) setProblems(refusedFields(failure))
  }
  const begin = () => {
    setFailure(undefined)
    setProblems(made.problems)
    return !isBusy && Object.keys(made.problems).length === 0
  }
  const onSimulate = async () => {
    if (!begin()) return
    setBusy(true)
    const outcome = await act(simulateTransaction(type, relayer.id, made.json))
    setBusy(false)
    if (outcome.ok) setSimulation(outcome.value)
    else refused(outcome.failure)
  }
  const onSend = async (event: Event) => {
    event.preventDefault()
    if (!begin()) return
    setBusy(true)
    const outcome = await act(sendTransaction(type, relayer.id, made.json, key))
    setBusy(false)
    if (!outcome.ok) return refused(outcome.failure)
    renewKey(crypto.randomUUID())
    route(`/console/transactions/${outcome.value.id}?relayer=${encodeURIComponent(relayer.id)}`)
  }
  return (
    <div class="grid g21">
      <form class="card pad" onSubmit={onSend}>
        <SchemaForm form={form} native={native} entered={entered} problems={problems} onChange={setEntered} />
        {failure !== undefined && Object.keys(problems).length === 0 && <Failed failure={failure} />}
        <div class="do">
          <Writes>
            <button class="btn p" type="submit" aria-disabled={isBusy}>
              {isBusy ? text.busy : text.send}
            </button>
            <button class="btn" type="button" aria-disabled={isBusy} onClick={onSimulate}>
              {text.simulate}
            </button>
          </Writes>
        </div>
      </form>
      <div class="grid">
        <section class="card" aria-label={text.simulation}>
          <h2>{text.simulation}</h2>
          {simulation === undefined ? (
            <Empty text={text.notSimulated} />
          ) : (
            <Simulation simulation={simulation} unit={native} />
          )}
        </section>
        <Curl method="POST" path={`/api/v1/relayers/${relayer.id}/transactions`} body={made.json} />
      </div>
    </div>
  )
}

type Simulated = Effect.Success<ReturnType<typeof simulateTransaction>>

/** The most that a send costs, in the unit of the network. The value of an evm transaction is part of it. */
const costOf = (simulation: Simulated): bigint | undefined => {
  if ("max_fee" in simulation) return simulation.max_fee
  return "price" in simulation ? simulation.price?.max_cost : undefined
}

const Simulation = ({ simulation, unit }: { readonly simulation: Simulated; readonly unit: Unit }) => {
  const cost = costOf(simulation)
  return (
    <>
      {cost !== undefined && (
        <p class="pad">
          {"max_fee" in simulation ? text.feeAtMost : text.costAtMost} <Amount value={cost} unit={unit} />
        </p>
      )}
      <div class="stack">
        <Tree value={simulation} />
      </div>
    </>
  )
}

/** The network decides the unit in which amounts are entered, so that the form waits for it. */
const SendFormOfNetwork = (props: Props) =>
  useAnswered(useQuery(networkList)) ? <SendForm {...props} /> : <Bars rows={8} />

export const SendPage = () => {
  const { params } = useRoute()
  const id = params["id"] ?? ""
  const query = useQuery(relayerById(id))
  return (
    <Page
      title={text.title}
      crumbs={[
        { href: "/console/relayers", label: words.relayers.title },
        { href: `/console/relayers/${encodeURIComponent(id)}`, label: query.value?.value.name ?? id }
      ]}
    >
      <Loaded query={query} rows={8}>
        {({ value }) =>
          isSending(value.network_type) ? (
            <SendFormOfNetwork relayer={value} type={value.network_type} />
          ) : (
            <Empty text={text.notOffered(value.network_type)} />
          )
        }
      </Loaded>
    </Page>
  )
}
