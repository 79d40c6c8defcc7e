// How many random cases tests try: a change runs a tenth of them from a fixed seed, so that its result can be repeated. `.ci/run --all`
// sets LONG=1, which runs all of them, where each property has another seed in each run.

export const isLong = process.env["LONG"] === "1"

/** One of so many cases is part of the short form. */
const share = 10

/** The number of cases of this run, from that of the long form. */
export const cases = (all: number): number => (isLong ? all : Math.ceil(all / share))

/** Cases of a property whose long form has Effect's default number. */
const usualCases = 100

/** The last argument of `it.prop`. */
export const property = (all: number = usualCases, options: { readonly size?: number } = {}) => ({
  arbitrary: { runs: cases(all), ...(isLong ? {} : { seed: 1 }), ...options }
})
