// Computes medians, means and least-squares lines.

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

/** Of positive numbers. */
export const geometricMean = (values: ReadonlyArray<number>): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)

interface Line {
  /** Change of y per unit of x. */
  readonly slope: number
  /** The standard error of the slope. */
  readonly standardError: number
}

/** The least-squares line through the points. */
export const line = (points: ReadonlyArray<readonly [x: number, y: number]>): Line => {
  const n = points.length
  const mean = (index: 0 | 1) => points.reduce((sum, point) => sum + point[index], 0) / n
  const [meanX, meanY] = [mean(0), mean(1)]
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread
  const residual = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  return { slope, standardError: Math.sqrt(residual / (n - 2) / spread) }
}
