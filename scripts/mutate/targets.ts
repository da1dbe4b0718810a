/** The decisions of core and the folders with their tests, as paths below src/core and test/core. */
export interface Target {
	readonly sources: readonly string[]
	readonly tests: readonly string[]
}

export const TARGETS: Readonly<Record<string, Target>> = {
	backoff: {
		sources: ['backoff/formula.ts', 'retry/delay.ts', 'retry/schedule.ts'],
		tests: ['backoff'],
	},
	retry: { sources: ['retry/decision.ts'], tests: ['retry'] },
	'circuit-breaker': {
		sources: [
			'circuit-breaker/circuit.ts',
			'circuit-breaker/isolation.ts',
			'circuit-breaker/snapshot.ts',
			'circuit-breaker/call-counts.ts',
			'circuit-breaker/open-state.ts',
			'circuit-breaker/outcomes.ts',
		],
		tests: ['circuit-breaker'],
	},
	bulkhead: { sources: ['bulkhead/slots.ts', 'bulkhead/limits.ts'], tests: ['bulkhead'] },
	budget: {
		sources: ['budget/retry-budget.ts', 'budget/token-budget.ts', 'budget/budget.ts'],
		tests: ['budget', 'retry', 'hedge'],
	},
	'rate-limiter': {
		sources: [
			'rate-limiter/pacer.ts',
			'rate-limiter/sliding-window.ts',
			'rate-limiter/start-queue.ts',
			'rate-limiter/token-bucket.ts',
		],
		tests: ['rate-limiter'],
	},
	throttle: { sources: ['throttle/decision.ts'], tests: ['throttle'] },
	classify: {
		sources: ['classify/classify.ts', 'classify/error-signals.ts'],
		tests: ['classify'],
	},
	window: { sources: ['structures/time-window.ts'], tests: ['structures'] },
	deadline: { sources: ['deadline/deadline.ts'], tests: ['deadline'] },
	lint: { sources: ['lint/worst-case.ts', 'lint/range-rules.ts'], tests: ['lint'] },
}
