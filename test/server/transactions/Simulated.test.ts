// The figures of a simulation, from what a provider and the ledger say.
import { assert, describe, it } from "@effect/vitest"
import type { EvmPolicy } from "../../../src/domain/relayer/Policy.ts"
import { networkOf, relayerOf } from "../lanes/fake/World.ts"
import { simulationOf } from "../../../src/networks/evm/requests/EvmIntake.ts"
import type { SimulationRules, SimulationView } from "../../../src/networks/evm/requests/EvmIntake.ts"
import type { Request } from "../../../src/networks/evm/rules/Evm.ts"

const gwei = 10n ** 9n
const ether = 10n ** 18n

/** The base fee doubles in an offer: a `fast` transaction offers 2 × 10 + 2 gwei. */
const known: SimulationView = {
  head: { gasLimit: 30_000_000n },
  market: { baseFee: 10n * gwei, tips: { safeLow: gwei, average: gwei, fast: 2n * gwei, fastest: 3n * gwei } },
  estimate: { _tag: "Gas", gas: 50_000n },
  balance: ether,
  reserved: 0n
}

const rulesOf = (policies: EvmPolicy = {}, features: ReadonlyArray<string> = ["eip1559"]): SimulationRules => ({
  relayer: relayerOf(policies),
  network: networkOf({ features }),
  numbers: {}
})

const rules = rulesOf()

const request: Request = { to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: 5n }

const simulated = (over: {
  readonly request?: Partial<Request>
  readonly known?: Partial<SimulationView>
  readonly rules?: Partial<SimulationRules>
}) => simulationOf({ ...request, ...over.request }, { ...rules, ...over.rules }, { ...known, ...over.known }, [])

const problemsOf = (over: Parameters<typeof simulated>[0]) => simulated(over).problems.map(({ field }) => field)

describe("a simulation", () => {
  it("prices the estimated gas with its margin, at the speed of the request and at each other one", () => {
    const { price, prices, ...rest } = simulated({})
    const gas = 60_000n
    const at = (maxFee: bigint, tip: bigint) => ({
      max_fee_per_gas: maxFee,
      max_priority_fee_per_gas: tip,
      max_cost: gas * maxFee + 5n
    })
    assert.deepStrictEqual(price, at(22n * gwei, 2n * gwei))
    assert.deepStrictEqual(prices, {
      safeLow: at(16n * gwei, gwei),
      average: at(21n * gwei, gwei),
      fast: at(22n * gwei, 2n * gwei),
      fastest: at(23n * gwei, 3n * gwei)
    })
    assert.deepStrictEqual(rest, {
      is_accepted: true,
      problems: [],
      would_revert: false,
      gas_used: 50_000n,
      gas_limit: 60_000,
      base_fee: 10n * gwei,
      balance: ether,
      reserved: 0n
    })
  })

  it("adds what a rollup charges for data to the cost, and to the funds that are needed", () => {
    const cost = 60_000n * 22n * gwei + 5n
    const { data_fee, price } = simulated({ known: { dataFee: 7n } })
    assert.deepStrictEqual([data_fee, price?.max_cost], [7n, cost + 7n])
    const balance = cost + 7n + 2n * (21_000n * 22n * gwei + 3n)
    assert.deepStrictEqual(problemsOf({ known: { balance, dataFee: 7n, noopDataFee: 3n } }), [])
    assert.deepStrictEqual(problemsOf({ known: { balance, dataFee: 8n, noopDataFee: 3n } }), ["balance"])
  })

  it("adds what the operator of a rollup charges for the gas limit", () => {
    const cost = 60_000n * 22n * gwei + 5n + 60_010n
    const market = { ...known.market, operatorFee: { constant: 10n, perMillionGas: 1_000_000n } }
    const { operator_fee, price } = simulated({ known: { market } })
    assert.deepStrictEqual([operator_fee, price?.max_cost], [60_010n, cost])
    const balance = cost + 2n * (21_000n * 22n * gwei + 21_010n)
    assert.deepStrictEqual(problemsOf({ known: { balance, market } }), [])
    assert.deepStrictEqual(problemsOf({ known: { balance: balance - 1n, market } }), ["balance"])
  })

  it("uses the gas limit and the fees of the request", () => {
    const { gas_limit, price } = simulated({ request: { gas_limit: 21_000n, gas_price: 30n * gwei } })
    assert.strictEqual(gas_limit, 21_000)
    assert.deepStrictEqual(price, { gas_price: 30n * gwei, max_cost: 21_000n * 30n * gwei + 5n })
  })

  it("stays within the cap of the policy and the gas cap of the network", () => {
    const capped: SimulationRules = {
      ...rulesOf({ gas_price_cap: 15n * gwei }),
      numbers: { transactionGasCap: 55_000n }
    }
    const { gas_limit, price, prices } = simulated({ rules: capped })
    assert.strictEqual(gas_limit, 55_000)
    assert.strictEqual(price?.max_fee_per_gas, 15n * gwei)
    assert.strictEqual(prices?.fastest.max_fee_per_gas, 15n * gwei)
  })

  it("has legacy prices if the network or the policy does not price by EIP-1559", () => {
    for (const legacy of [rulesOf({}, []), rulesOf({ eip1559_pricing: false })]) {
      const { price } = simulated({ rules: legacy, known: { market: { ...known.market, gasPrice: 11n * gwei } } })
      assert.hasAllKeys(price, ["gas_price", "max_cost"])
    }
  })

  it("names a limit that the call does not keep, if the request has the two compared", () => {
    const compared = (gas_limit: bigint, simulate = true) => problemsOf({ request: { gas_limit, simulate } })
    assert.deepStrictEqual([compared(50_000n), compared(49_999n)], [[], ["gas_limit"]])
    assert.deepStrictEqual(compared(49_999n, false), [])
  })

  it("names a price below the base fee, a lack of funds and a revert", () => {
    assert.deepStrictEqual(problemsOf({ request: { gas_price: 9n * gwei } }), ["fees"])
    assert.deepStrictEqual(problemsOf({ request: { value: ether } }), ["balance"])
    assert.deepStrictEqual(problemsOf({ known: { reserved: ether } }), ["balance"])
    assert.deepStrictEqual(problemsOf({ rules: rulesOf({ min_balance: ether }) }), ["balance"])
    const reverts: SimulationView["estimate"] = { _tag: "Reverts", second: "not_configured", reason: "too late" }
    const { problems, would_revert, revert_reason, price } = simulated({ known: { estimate: reverts } })
    assert.deepStrictEqual([problems[0]?.field, would_revert, revert_reason], ["data", true, "too late"])
    assert.isUndefined(price)
  })

  it("reports a revert without a problem if the send does not estimate the call", () => {
    const reverts: SimulationView["estimate"] = { _tag: "Reverts", second: "not_configured" }
    const { problems, would_revert } = simulated({ request: { gas_limit: 50_000n }, known: { estimate: reverts } })
    assert.deepStrictEqual([problems, would_revert], [[], true])
    assert.deepStrictEqual(
      problemsOf({ request: { gas_limit: 50_000n, simulate: true }, known: { estimate: reverts } }),
      ["data"]
    )
  })

  it("is not accepted if the request itself is refused", () => {
    const violation = { field: "to", message: "is not in whitelist_receivers of the relayer's policy" }
    const { is_accepted, problems } = simulationOf(request, rules, known, [violation])
    assert.deepStrictEqual([is_accepted, problems], [false, [violation]])
  })
})
