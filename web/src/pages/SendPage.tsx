// Sends a transaction through a relayer: a form from the schema of its network type, and beside it what would happen.
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import { bodyOf } from "../data/FormFields.ts"
import type { Entered, Problems } from "../data/FormFields.ts"
import { forms } from "../data/Forms.ts"
import { unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import { act } from "../data/Registry.ts"
import { relayerById } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import { isSending, sendTransaction, simulateTransaction } from "../data/Transactions.ts"
import type { SendingType } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Failed, Loaded } from "../parts/Block.tsx"
import { Curl } from "../parts/Curl.tsx"
import { SchemaForm } from "../parts/Form.tsx"
import { Empty } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { refusedFields } from "../parts/Patch.tsx"
import { Tree } from "../parts/Tree.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import { Writes } from "../parts/Writes.tsx"

const text = words.send

const formNames: Readonly<Record<SendingType, string>> = {
  evm: "SendEvmTransactionRequest",
  solana: "SendSolanaTransactionRequest",
  stellar: "SendStellarTransactionRequest"
}

const SendForm = ({ relayer, type }: { readonly relayer: Relayer; readonly type: SendingType }) => {
  const session = useAtom(sessionState)
  const { route } = useLocation()
  const native = unitOf(relayer.network_type, relayer.network, useQuery(networkList).value)
  const form = forms[formNames[type]] ?? []
  const [entered, setEntered] = useState<Entered>({})
  const [problems, setProblems] = useState<Problems>({})
  const [failure, setFailure] = useState<Failure>()
  const [simulation, setSimulation] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  /** The same for each try of this form, so that a second click sends nothing twice. */
  const [key, renewKey] = useState(() => crypto.randomUUID())
  const made = bodyOf(form, entered, native)
  const isAllowed = may(session, "transactions:write")

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
    if (!isAllowed || !begin()) return
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
            <button class="btn p" type="submit" aria-disabled={isBusy || !isAllowed}>
              {isBusy ? text.busy : text.send}
            </button>
            <button class="btn" type="button" aria-disabled={isBusy} onClick={onSimulate}>
              {text.simulate}
            </button>
          </Writes>
          {!isAllowed && <span class="mut">{words.transaction.notAllowed}</span>}
        </div>
      </form>
      <div class="grid">
        <section class="card" aria-label={text.simulation}>
          <h2>{text.simulation}</h2>
          {simulation === undefined ? <Empty text={text.notSimulated} /> : <Tree value={simulation} />}
        </section>
        <Curl method="POST" path={`/api/v1/relayers/${relayer.id}/transactions`} body={made.json} />
      </div>
    </div>
  )
}

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
            <SendForm relayer={value} type={value.network_type} />
          ) : (
            <Empty text={text.notOffered(value.network_type)} />
          )
        }
      </Loaded>
    </Page>
  )
}
