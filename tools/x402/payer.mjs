// Payers with the stock packages. Each payment is made once; its header is repeated until the thing is served. `PAYER` has the settings as
// JSON: the sellers, the keys of the payers, and how many things are bought. Every tenth payment is presented twice at once.
import { ExactEvmScheme } from "@x402/evm/exact/client"
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch"
import { privateKeyToAccount } from "viem/accounts"

const { sellers, keys, network, count, patienceMs } = JSON.parse(process.env.PAYER)
const ends = Date.now() + patienceMs

/** Milliseconds between two presentations of a header. */
const pause = 500

const final = new Set(["duplicate_settlement", "invalid_exact_evm_nonce_already_used"])

const decoded = (header) => (header === null ? {} : JSON.parse(Buffer.from(header, "base64").toString()))

/** Why the seller does not serve: what its facilitator has answered to settle, or to verify. */
const reasonOf = (headers) =>
  decoded(headers.get("payment-response")).errorReason ?? decoded(headers.get("payment-required")).error

const isPayment = (headers) => headers.has("payment-signature") || headers.has("x-payment")

const buy = async (number) => {
  const served = []
  const answers = []
  /** Presents the header to all sellers in turn until one has served the thing. */
  const present = async (request) => {
    const path = new URL(request.url).pathname
    for (let turn = number; Date.now() < ends; turn += 1) {
      const times = number % 10 === 0 ? 2 : 1
      const tries = await Promise.all(
        Array.from({ length: times }, async (_, index) => {
          const seller = sellers[(turn + index) % sellers.length]
          try {
            const response = await fetch(new Request(seller + path, { headers: request.headers }))
            const text = await response.text()
            if (response.status === 200) served.push(JSON.parse(text).thing)
            else answers.push(response.status)
            const { status, headers } = response
            return { status, text, header: headers.get("payment-response"), reason: reasonOf(headers) }
          } catch (error) {
            answers.push(error.message)
            return undefined
          }
        })
      )
      const won = tries.find((one) => one?.status === 200)
      if (won !== undefined) return new Response(won.text, { status: 200, headers: { "payment-response": won.header } })
      // What was settled for an answer that was lost is not served again.
      if (tries.some((one) => final.has(one?.reason))) return new Response(null, { status: 410 })
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
    return new Response(null, { status: 504 })
  }
  const paying = async (input, init) => {
    const request = new Request(input, init)
    if (isPayment(request.headers)) return present(request)
    for (;;) {
      const asked = await fetch(request.clone()).catch(() => undefined)
      if (asked?.status === 402) return asked
      if (Date.now() > ends) return new Response(null, { status: 504 })
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
  const account = privateKeyToAccount(keys[number % keys.length])
  const fetchWithPayment = wrapFetchWithPaymentFromConfig(paying, {
    schemes: [{ network, client: new ExactEvmScheme(account) }],
    spendControls: false
  })
  const begun = performance.now()
  const status = await fetchWithPayment(`${sellers[number % sellers.length]}/things/${number}`).then(
    (response) => response.status,
    (error) => error.message
  )
  return { number, status, served: served.length, answers, ms: Math.round(performance.now() - begun) }
}

const bought = await Promise.all(Array.from({ length: count }, (_, number) => buy(number + 1)))
process.stdout.write(JSON.stringify(bought))
