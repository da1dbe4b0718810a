/** The policy that the shop will use. The tests run the same code. */
import {
	bulkhead,
	circuitBreaker,
	type Policy,
	pipeline,
	type Runtime,
	retry,
	retryBudget,
	timeout,
} from 'yaoki'

/** The program calls it once, without a runtime. The simulator passes its virtual time. */
export const createStockPolicy = (runtime?: Runtime): Policy =>
	pipeline(
		{ name: 'stock' },
		bulkhead({ queueTimeoutMs: 200 }),
		circuitBreaker({
			failureThreshold: 10,
			resetTimeoutMs: 2_000,
			resetBackoff: {},
			halfOpenMaxConcurrent: 2,
		}),
		retry({ maxRetries: 2, baseDelayMs: 100, budget: retryBudget({ minRetriesPerSecond: 1, runtime }) }),
		timeout(500),
	)

/** For `yaoki lint`. */
export const stockPolicy: Policy = createStockPolicy()
