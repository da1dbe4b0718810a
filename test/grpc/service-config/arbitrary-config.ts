/** Random valid service configs. */
import fc from 'fast-check'

const STATUS = fc.oneof(
	fc.integer({ min: 1, max: 16 }),
	fc.constantFrom('UNAVAILABLE', 'aborted', 'Internal'),
)
const seconds = (least: number) =>
	fc
		.tuple(fc.integer({ min: least, max: 1_000_000 }), fc.stringMatching(/^[0-9]{1,9}$/))
		.map(([whole, decimals]) => `${whole}.${decimals}s`)
const MAX_ATTEMPTS = fc.integer({ min: 2, max: 20 })

const RETRY_POLICY = fc.record({
	maxAttempts: MAX_ATTEMPTS,
	initialBackoff: seconds(1),
	maxBackoff: seconds(1),
	backoffMultiplier: fc.double({ min: 0.001, max: 100, noNaN: true }),
	retryableStatusCodes: fc.array(STATUS, { minLength: 1, maxLength: 4 }),
})
const HEDGING_POLICY = fc.record(
	{
		maxAttempts: MAX_ATTEMPTS,
		hedgingDelay: seconds(0),
		nonFatalStatusCodes: fc.array(STATUS, { maxLength: 4 }),
	},
	{ requiredKeys: ['maxAttempts'] },
)
const SETTINGS = {
	timeout: seconds(0),
	waitForReady: fc.boolean(),
	maxRequestMessageBytes: fc.oneof(fc.nat(), fc.nat().map(String)),
	maxResponseMessageBytes: fc.nat(),
}
const ENTRY = fc.oneof(
	fc.record({ ...SETTINGS, retryPolicy: RETRY_POLICY }, { requiredKeys: [] }),
	fc.record({ ...SETTINGS, hedgingPolicy: HEDGING_POLICY }, { requiredKeys: [] }),
)
const THROTTLING = fc.record({
	maxTokens: fc.integer({ min: 1, max: 1_000 }),
	tokenRatio: fc.double({ min: 0.001, max: 1e6, noNaN: true }),
})
const NAMES = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.string()), {
	selector: (name) => JSON.stringify(name),
	maxLength: 6,
})

/** A valid config whose names are dealt to its entries in turn. */
export const CONFIG = fc
	.tuple(fc.array(ENTRY, { minLength: 1, maxLength: 4 }), NAMES, fc.option(THROTTLING, { nil: undefined }))
	.map(([entries, names, retryThrottling]) => ({
		methodConfig: entries.map((entry, index) => ({
			...entry,
			name: names
				.filter((_, position) => position % entries.length === index)
				.map(([service, method]) => ({ service, method })),
		})),
		...(retryThrottling && { retryThrottling }),
	}))
