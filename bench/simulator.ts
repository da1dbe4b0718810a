/** Throughput of the simulator on one core, run time of shipped studies, and memory. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Scenario, type SimulationResult, simulate } from 'yaoki/sim'
import { column, type Report } from './figure.ts'
import { median } from './harness.ts'

const queue: Scenario = {
	durationMs: 1_000_000,
	services: { api: { serviceTimeMs: { kind: 'exponential', meanMs: 0.8 } } },
	clients: { users: { to: 'api', arrivals: { kind: 'poisson', perSecond: 1_000 } } },
}

const stack: Scenario = {
	durationMs: 100_000,
	services: { api: { workers: 100, serviceTimeMs: { kind: 'exponential', meanMs: 20 } } },
	clients: { users: { to: 'api', arrivals: { kind: 'poisson', perSecond: 4_000 }, policy: 'four' } },
	policies: {
		four: [
			{ bulkhead: { maxConcurrent: 200, maxQueue: 1_000 } },
			{ circuitBreaker: { failureThreshold: 5 } },
			{ retry: { maxRetries: 3 } },
			{ timeoutMs: 1_000 },
		],
	},
}

/** Every attempt times out, and the service processes it anyway. */
const overload: Scenario = {
	durationMs: 60_000,
	services: { api: { workers: 10, serviceTimeMs: { kind: 'exponential', meanMs: 20 } } },
	clients: { users: { to: 'api', arrivals: { kind: 'poisson', perSecond: 2_000 }, policy: 'patient' } },
	policies: { patient: [{ retry: { maxRetries: 3, baseDelayMs: 100 } }, { timeoutMs: 500 }] },
}

const rate = (count: number): string => Math.round(count).toLocaleString('en-US')

/** Returns the median rate of five runs with different seeds. */
function perSecond(scenario: Scenario, count: (result: SimulationResult) => number): number {
	const runs = [1, 2, 3, 4, 5].map((seed) => {
		const from = process.hrtime.bigint()
		const result = simulate({ ...scenario, seed })
		return count(result) / (Number(process.hrtime.bigint() - from) / 1e9)
	})
	return median(runs)
}

/** Returns the run time of a command, process start included. */
function seconds(...args: readonly string[]): number {
	const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
	const from = process.hrtime.bigint()
	const { status, stderr } = spawnSync(process.execPath, [cli, 'simulate', ...args, '--json'], {
		encoding: 'utf8',
		maxBuffer: 2 ** 30,
	})
	if (status !== 0) throw new Error(stderr)
	return Number(process.hrtime.bigint() - from) / 1e9
}

/** Returns the heap size after a run. */
function heapAfter(duration: number): number {
	const result = simulate({ ...queue, durationMs: duration })
	globalThis.gc?.()
	return process.memoryUsage().heapUsed + (result.events > 0 ? 0 : 1)
}

export async function simulator(): Promise<Report> {
	const events = perSecond(queue, (result) => result.events)
	const calls = perSecond(stack, (result) => result.clients['users']?.calls ?? 0)
	const requests = perSecond(overload, (result) => result.clients['users']?.requests ?? 0)
	const herd = seconds('herd')
	const map = seconds('metastable', '--variant', 'full jitter', '--workers', '1')
	const maps = seconds('metastable')
	heapAfter(100_000)
	const grown = heapAfter(1_000_000) - heapAfter(100_000)
	return {
		title: 'The simulator',
		lines: [
			column('M/M/1, one core', `${rate(events)} events/s`),
			column('four policies, one core', `${rate(calls)} calls/s`),
			column('overload, all attempts time out', `${rate(requests)} requests/s`),
			column('yaoki simulate herd', `${herd.toFixed(2)} s`),
			column('yaoki simulate metastable, one map, one core', `${map.toFixed(2)} s`),
			column('yaoki simulate metastable, all maps', `${maps.toFixed(2)} s`),
			column('heap after 10 times the time', `${rate(grown)} bytes more`),
		],
		figures: [
			{
				figure: 'M/M/1',
				asked: 'at least 2,000,000 events/s',
				measured: `${rate(events)} events/s`,
				reached: events >= 2e6,
			},
			{
				figure: 'four policies simulated',
				asked: 'at least 500,000 calls/s',
				measured: `${rate(calls)} calls/s`,
				reached: calls >= 5e5,
			},
			{
				figure: 'overload in which all attempts time out',
				asked: 'at least 200,000 requests/s',
				measured: `${rate(requests)} requests/s`,
				reached: requests >= 2e5,
			},
			{ figure: 'thundering herd', asked: 'under 2 s', measured: `${herd.toFixed(2)} s`, reached: herd < 2 },
			{
				figure: 'heat map, 9 x 10 x 20 runs',
				asked: 'at most 8 s on one core',
				measured: `${map.toFixed(2)} s`,
				reached: map <= 8,
			},
			{
				figure: 'memory of a run',
				asked: 'independent of the simulated time',
				measured: `${rate(grown)} bytes more after 10 times as long`,
				reached: grown < 1e6,
			},
		],
		data: { events, calls, requests, herd, map, maps, grown },
	}
}
