import { describe, expect, it } from 'vitest'
import { type ClientModel, type Fault, type PolicyLayer, simulate } from 'yaoki/sim'
import { api, atOnce, every, setup, web } from '../setup.ts'

describe('a hedge', () => {
	// The service is slow for the first request, not for the second.
	const slow: Fault = { kind: 'slowdown', factor: 10, fromMs: 0, toMs: 20 }
	const hedged = (api_: object, layers: readonly PolicyLayer[] = []) =>
		simulate(
			setup({
				api: { workers: 5, faults: [slow], ...api_ },
				policy: [...layers, { hedge: { delayMs: 30 } }],
			}),
		)

	it('uses the first response, and the other is wasted work', () => {
		const result = hedged({})
		expect(web(result)).toMatchObject({ good: 1, requests: 2, retries: 1 })
		expect(result.totals.lastResponseAtMs).toBe(30 + 10)
		expect(api(result)).toMatchObject({ useful: 1, usefulMs: 10, wasted: 1, wastedMs: 100 })
	})

	it('is the wasted one if it is slower', () => {
		const result = simulate(
			setup({ api: { workers: 5, serviceTimeMs: 35 }, policy: [{ hedge: { delayMs: 30 } }] }),
		)
		expect(result.totals.lastResponseAtMs).toBe(35)
		expect(api(result)).toMatchObject({ useful: 1, wasted: 1, wastedMs: 35 })
	})

	it('is dropped with dropExpired if it is still queued', () => {
		const met = (dropExpired: boolean) =>
			api(
				simulate(
					setup({
						api: { serviceTimeMs: 35, queue: { dropExpired } },
						web: { arrivals: atOnce(2) },
						policy: [{ hedge: { delayMs: 5 } }],
					}),
				),
			)
		expect(met(false)).toMatchObject({ useful: 2, wasted: 2, dropped: 0 })
		// The last one starts at the very time its call ends, too late to be dropped.
		expect(met(true)).toMatchObject({ useful: 2, wasted: 1, dropped: 1 })
	})

	it('is not sent if the first response is in time', () => {
		expect(web(simulate(setup({ policy: [{ hedge: { delayMs: 30 } }] }))).requests).toBe(1)
	})

	it('inside a timeout ends with it, and both requests are wasted', () => {
		const result = hedged({ serviceTimeMs: 500 }, [{ timeoutMs: 60 }])
		expect(web(result)).toMatchObject({ failed: 1, requests: 2 })
		expect(api(result)).toMatchObject({ useful: 0, wasted: 2 })
	})

	it('is limited by its budget', () => {
		const layers: readonly PolicyLayer[] = [
			{ hedge: { delayMs: 5, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 0 } } },
		]
		const result = simulate(
			setup({ api: { workers: 50 }, web: { arrivals: every(1, 1_000) }, policy: layers }),
		)
		expect(web(result).retries).toBe(100)
	})
})

describe('a deadline', () => {
	const hung: Fault = { kind: 'outage', mode: 'hang', fromMs: 0, toMs: 1e6 }
	const policies: Readonly<Record<string, readonly PolicyLayer[] | undefined>> = {
		'no policy': undefined,
		'an empty one': [],
		'a retry': [{ retry: {} }],
		'a retry and a longer timeout': [{ retry: {} }, { timeoutMs: 5_000 }],
		'a bulkhead and a hedge': [{ bulkhead: {} }, { hedge: { delayMs: 10 } }],
	}

	it.each(Object.keys(policies))('ends calls that hang, with %s', (name) => {
		const policy = policies[name]
		const result = simulate(
			setup({
				api: { faults: [hung] },
				web: { deadlineMs: 100, arrivals: every(1, 5) },
				...(policy ? { policy } : {}),
			}),
		)
		expect(web(result)).toMatchObject({ failed: 5, unfinished: 0 })
		expect(result.totals.lastResponseAtMs).toBe(104)
	})

	it('leaves the request to the service, as wasted work', () => {
		const met = (dropExpired: boolean) =>
			api(simulate(setup({ api: { queue: { dropExpired } }, web: { deadlineMs: 15, arrivals: atOnce(4) } })))
		expect(met(false)).toMatchObject({ useful: 1, wasted: 3 })
		expect(met(true)).toMatchObject({ useful: 1, wasted: 1, dropped: 2 })
	})

	it('ends the retries that could not finish', () => {
		const dead: Fault = { kind: 'outage', fromMs: 0, toMs: 1e6 }
		const client: Partial<ClientModel> = { deadlineMs: 350 }
		const policy: readonly PolicyLayer[] = [
			{ retry: { maxRetries: 9, baseDelayMs: 100, growth: 'constant', jitterStrategy: 'none' } },
		]
		const result = simulate(setup({ api: { faults: [dead] }, web: client, policy }))
		expect(web(result).requests).toBe(4)
		expect(result.totals.lastResponseAtMs).toBeLessThanOrEqual(350)
	})

	it('rejects every call if it is 0', () => {
		expect(web(simulate(setup({ web: { deadlineMs: 0 } })))).toMatchObject({
			failed: 1,
			rejected: 1,
			requests: 0,
		})
	})

	it('changes nothing if it is met', () => {
		expect(web(simulate(setup({ web: { deadlineMs: 11 } })))).toEqual(web(simulate(setup())))
	})

	it('releases its memory when the call is over', () => {
		// Deadlines of a day for calls that end immediately leave no timers.
		const result = simulate(setup({ web: { deadlineMs: 86_400_000, arrivals: every(20, 100) } }))
		expect(result).toMatchObject({ endedBy: 'idle', endedAtMs: 1_990 })
	})
})
