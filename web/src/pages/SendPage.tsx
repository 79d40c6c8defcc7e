// Sends a transaction through a relayer: a form from the schema of its network type, and beside it what would happen.
import { Effect } from "effect"
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import { isOfNetwork } from "../../../src/client/Networks.ts"
import { delegationOf } from "../data/Delegations.ts"
import type { Delegation } from "../data/Delegations.ts"
import type { Failure } from "../data/Failure.ts"
import { bodyOf } from "../data/FormFields.ts"
import type { Entered, FormField, Problems } from "../data/FormFields.ts"
import { forms } from "../data/Forms.ts"
import { privateUrlsOf, unitOf } from "../data/Chains.ts"
import type { Unit } from "../data/Amounts.ts"
import { networkList } from "../data/Networks.ts"
import type { Network } from "../data/Networks.ts"
import { act, query } from "../data/Registry.ts"
import { relayerById } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
import { checkTransaction, isSending, sendTransaction, simulateTransaction } from "../data/Transactions.ts"
import type { SendingType } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Amount } from "../parts/Amount.tsx"
import { Bars, Failed, Loaded } from "../parts/Block.tsx"
import { Curl } from "../parts/Curl.tsx"
import { Confirm } from "../parts/Dialog.tsx"
import { SchemaForm } from "../parts/Form.tsx"
import { Empty } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { refusedFields } from "../parts/Patch.tsx"
import { Tag, mark } from "../parts/Tag.tsx"
import { Tree } from "../parts/Tree.tsx"
import { useAnswered, useQuery } from "../parts/useAtom.ts"
import { Writes } from "../parts/Writes.tsx"
import { Review, StateOf, othersOf } from "./send/Review.tsx"

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

/** Of accounts of other networks, which do not delegate. */
const noDelegation = query(Effect.succeed<Delegation>({ is_final: true }))

const useDelegation = ({ id, network_type }: Relayer) =>
  useQuery(network_type === "evm" ? delegationOf(id) : noDelegation)

/** What of the form has an effect but a refusal, and why something else is left out. */
const useOffered = (relayer: Relayer, networks: ReadonlyArray<Network> | undefined) => {
  const delegation = useDelegation(relayer).value
  if (!isOfNetwork("evm", relayer)) return { isOffered: () => true, notes: [] }
  const { allowed_delegates: delegates = [], private_transactions: isPrivate = false } = relayer.policies ?? {}
  const network = networks?.filter((one) => isOfNetwork("evm", one)).find(({ name }) => name === relayer.network)
  // Without a private RPC URL, and if the policy has decided, the choice has no effect but a refusal.
  const hasRoute = !isPrivate && privateUrlsOf(relayer, networks)?.length !== 0
  // While a change is open, the service takes calls, too. If it does not say what the account delegates to, it says so when it refuses.
  const { address, open_transaction_id: open } = delegation ?? {}
  const hasExecutor = delegation === undefined || address !== undefined || open !== undefined
  const lacking = [
    ...(network !== undefined && !(network.features ?? []).includes("eip7702") ? [words.authorizations.noFeature] : []),
    ...(delegates.length === 0 ? [words.authorizations.noDelegate] : [])
  ]
  const offered: Readonly<Record<string, boolean>> = {
    private: hasRoute,
    calls: hasExecutor,
    authorization_list: lacking.length === 0
  }
  return {
    isOffered: ({ name }: FormField) => offered[name] !== false,
    notes: [
      ...(isPrivate ? [text.alwaysPrivate] : []),
      ...(hasExecutor
        ? []
        : [
            <>
              {words.calls.noExecutor}{" "}
              <a class="l" href={`/console/relayers/${encodeURIComponent(relayer.id)}/delegation`}>
                {words.delegation.title}
              </a>
            </>
          ]),
      ...(lacking.length === 0 ? [] : [`${words.authorizations.notReady} ${lacking.join("; ")}.`])
    ]
  }
}

const SendForm = ({ relayer, type }: Props) => {
  const { route } = useLocation()
  const networks = useQuery(networkList).value
  const native = unitOf(relayer.network_type, relayer.network, networks)
  const network = networks?.find(({ name, network_type }) => name === relayer.network && network_type === type)
  const { isOffered, notes } = useOffered(relayer, networks)
  const form = (forms[formNames[type]] ?? []).filter(isOffered)
  // A send of stellar names the network of its relayer, so that nobody has to type it.
  const [entered, setEntered] = useState<Entered>(
    form.some(({ name }) => name === "network") ? { network: relayer.network } : {}
  )
  const [problems, setProblems] = useState<Problems>({})
  const [failure, setFailure] = useState<Failure>()
  const [simulation, setSimulation] = useState<{ readonly of: string; readonly found: Simulated }>()
  const [isReviewed, setReviewed] = useState(false)
  const [isBusy, setBusy] = useState(false)
  /** The same for each try of this form, so that a second click sends nothing twice. */
  const [key, renewKey] = useState(() => crypto.randomUUID())
  const made = bodyOf(form, entered, native)
  const json = JSON.stringify(made.json)

  const refused = (failure: Failure) => {
    setFailure(failure)
    if (failure.status === 400) setProblems(refusedFields(failure))
  }
  /** What the contract refuses is said at its field, before a person looks at it a second time. */
  const begin = async () => {
    setFailure(undefined)
    setProblems(made.problems)
    if (isBusy || Object.keys(made.problems).length > 0) return false
    const outcome = await act(checkTransaction(type, made.json))
    if (!outcome.ok) refused(outcome.failure)
    return outcome.ok
  }
  const onSimulate = async () => {
    if (!(await begin())) return
    setBusy(true)
    const outcome = await act(simulateTransaction(type, relayer.id, made.json))
    setBusy(false)
    if (outcome.ok) setSimulation({ of: json, found: outcome.value })
    else refused(outcome.failure)
  }
  const onReview = async (event: Event) => {
    event.preventDefault()
    if (await begin()) setReviewed(true)
  }
  const onSend = async () => {
    const outcome = await act(sendTransaction(type, relayer.id, made.json, key))
    if (outcome.ok) {
      renewKey(crypto.randomUUID())
      route(`/console/transactions/${outcome.value.id}?relayer=${encodeURIComponent(relayer.id)}`)
    } else if (outcome.failure.status === 400) {
      // Its problems are shown at the fields.
      setReviewed(false)
      refused(outcome.failure)
    }
    return outcome
  }
  return (
    <div class="grid g21">
      {isReviewed && (
        <Confirm
          question={{
            title: text.review,
            text: (
              <Review
                relayer={relayer}
                network={network}
                body={made.json}
                others={othersOf(form, entered, native)}
                most={simulation?.of === json ? costOf(simulation.found) : undefined}
                unit={native}
              />
            ),
            action: text.send,
            act: onSend
          }}
          onClose={() => setReviewed(false)}
        />
      )}
      <form class="card pad" onSubmit={onReview}>
        <StateOf relayer={relayer} />
        {notes.map((note, index) => (
          <p key={index} class="mut">
            {note}
          </p>
        ))}
        <SchemaForm form={form} native={native} entered={entered} problems={problems} onChange={setEntered} />
        {failure !== undefined && Object.keys(problems).length === 0 && <Failed failure={failure} />}
        <div class="do">
          <Writes>
            <button class="btn p" type="submit" aria-disabled={isBusy}>
              {isBusy ? text.busy : text.reviewAndSend}
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
            <Simulation simulation={simulation.found} unit={native} />
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

/** Why a send would be refused, held, or fail: for evm in sentences, else as codes. */
const problemsIn = (simulation: Simulated): ReadonlyArray<string> => {
  if ("verdict" in simulation) return simulation.verdict
  const { problems, revert_reason, would_revert } = simulation
  return [
    ...problems.map(({ field, message }) => `${field}: ${message}`),
    ...(would_revert === true ? [`${text.wouldRevert}${revert_reason === undefined ? "" : `: ${revert_reason}`}`] : [])
  ]
}

const Verdict = ({ simulation }: { readonly simulation: Simulated }) => {
  const problems = problemsIn(simulation)
  return (
    <div class="pad">
      <Tag {...(problems.length === 0 ? mark("ok", text.wouldWork) : mark("warn", text.wouldNot))} />
      <ul class="values">
        {problems.map((problem) => (
          <li key={problem}>
            <bdi class="wrap">{problem}</bdi>
          </li>
        ))}
      </ul>
    </div>
  )
}

const Simulation = ({ simulation, unit }: { readonly simulation: Simulated; readonly unit: Unit }) => {
  const cost = costOf(simulation)
  return (
    <>
      <Verdict simulation={simulation} />
      {cost !== undefined && (
        <p class="pad">
          {"max_fee" in simulation ? text.feeAtMost : text.costAtMost} <Amount value={cost} unit={unit} />
        </p>
      )}
      <details class="stack">
        <summary class="pad">{text.allFigures}</summary>
        <Tree value={simulation} />
      </details>
    </>
  )
}

/** The network decides the unit in which amounts are entered, and the delegation which fields there are, so that the form waits for them. */
const SendFormOfNetwork = (props: Props) =>
  useAnswered(useQuery(networkList), useDelegation(props.relayer)) ? <SendForm {...props} /> : <Bars rows={8} />

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
