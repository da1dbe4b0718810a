/** Events of a real run, written by an event log and replayed by the simulator: the outage is found at the time at which the server had it. */

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { resilientFetch } from 'yaoki/http'
import { scenarioFromIncident, simulate } from 'yaoki/sim'
import { observe } from 'yaoki/telemetry'
import { eventLog } from 'yaoki/telemetry/node'
import { formatIncident } from '../../../src/sim/incident/summary.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { outageServer } from './outage-server.ts'
import { readFiles } from './read-log.ts'

/** The minimum length of each of the three periods. */
const PERIOD_MS = 2_000

const CALLERS = 20

test('the outage of a real server is found in the event log of its client', async () => {
	const server = await outageServer()
	onTestFinished(() => server.close())
	const path = join(temporaryFolder(), 'events.jsonl')
	const log = eventLog({ path, maxBytes: 100_000, maxFiles: 1_000 })
	// A circuit that opens hides the end of the outage, which this test looks for.
	const fetchReport = resilientFetch({
		name: 'reports',
		maxRetries: 2,
		baseDelayMs: 50,
		circuitBreaker: false,
	})
	const stop = observe({ reports: fetchReport }, [log])

	let isRunning = true
	const ended = { good: 0, failed: 0 }
	const caller = async () => {
		while (isRunning) {
			const response = await fetchReport(server.url).catch(() => undefined)
			await response?.arrayBuffer()
			ended[response ? 'good' : 'failed']++
			await delay(20)
		}
	}
	/** Waits for enough calls in the period, however long a busy machine takes. */
	const period = async (kind: 'good' | 'failed') => {
		const before = ended[kind]
		await delay(PERIOD_MS)
		while (ended[kind] - before < 5 * CALLERS) await delay(50)
	}
	const callers = Array.from({ length: CALLERS }, caller)
	await period('good')
	const outage = await server.fail(() => period('failed'))
	await period('good')
	isRunning = false
	await Promise.all(callers)
	stop()
	await log.close()

	expect(log.stats).toMatchObject({ dropped: 0, failures: 0, buffered: 0 })
	expect(log.stats.written).toBeGreaterThan(ended.good + ended.failed)
	const files = readFiles(path)
	expect(files.length).toBeGreaterThan(1)
	const { scenario, summary } = scenarioFromIncident(files.join(''), { resolutionMs: 100 })

	expect(summary.skipped).toMatchObject({ unreadable: 0, dropped: 0 })
	const { good, failed } = ended
	expect(summary.calls).toMatchObject({ total: good + failed, good, failed })
	// On a busy machine responses are slow at times, which is found too, and the last failures may be a fault of their own.
	const failures = summary.faults.filter(({ fault }) => fault.kind !== 'slowdown')
	const text = formatIncident(summary)
	const count = (name: 'attempts' | 'symptoms') => failures.reduce((sum, found) => sum + found[name], 0)
	expect(count('symptoms'), text).toBeGreaterThan(0.9 * count('attempts'))
	expect(count('symptoms'), text).toBeGreaterThan(failed)
	const tolerance = (outage.to - outage.from) / 4
	const from = summary.startedAt + Math.min(...failures.map(({ fault }) => fault.fromMs))
	const to = summary.startedAt + Math.max(...failures.map(({ fault }) => fault.toMs))
	expect(Math.abs(from - outage.from), text).toBeLessThan(tolerance)
	expect(Math.abs(to - outage.to), text).toBeLessThan(tolerance)

	// The same calls with the same outage, without retries.
	const replayed = simulate({ ...scenario, policies: { replay: [] } }).clients['calls']
	expect(replayed?.calls).toBe(good + failed)
	expect(replayed?.failed).toBeGreaterThan(0.75 * failed)
	expect(replayed?.good).toBeGreaterThan(0.75 * good)
})
