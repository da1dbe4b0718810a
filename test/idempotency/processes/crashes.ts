/**
 * Kills server processes in the middle of requests, at every point of a handler and at random moments. The client of an order repeats its request with the
 * same key until it has a response, as `ResilientHttpClient` does.
 */
import { Agent } from 'node:http'
import { seededRandom } from 'yaoki/testing'
import { CRASH_POINTS, type CrashPoint } from './crash-points.ts'
import { type Dependency, type Occurrence, startDependency } from './dependency.ts'
import type { StoreAddress } from './open-store.ts'
import { post, type Received } from './post.ts'
import { type RunningServer, ServerFleet } from './server-fleet.ts'

export interface CrashOptions {
	/** Orders whose server is killed. */
	readonly rounds: number
	/** Rounds that run concurrently, each with its own server. */
	readonly lanes: number
	readonly seed: string
	/** Whether each server is on a machine of its own, so that the lease decides when the next one may run. */
	readonly areApart: boolean
}

export interface CrashTotals {
	rounds: number
	kills: number
	conflicts: number
	readonly findings: string[]
}

/** After a crash a key is locked for at most this long, if the servers are apart. */
const LEASE_MS = 400

/** Longer than an order is repeated: no lease ends. */
const LONG_LEASE_MS = 60_000

/** A killed process may have sent a heartbeat that the database executes after the first conflict. */
const MAX_CONFLICTS = 3

/** Longer than an order takes on a fast machine: some of these kills are after the response. */
const RANDOM_KILL_MS = 40

const POINTS: readonly (CrashPoint | 'random')[] = [...CRASH_POINTS, 'random', 'random']

export async function runCrashes(store: StoreAddress, options: CrashOptions): Promise<CrashTotals> {
	const totals: CrashTotals = { rounds: 0, kills: 0, conflicts: 0, findings: [] }
	await using dependency = await startDependency()
	const { lanes, rounds, seed, areApart } = options
	const leaseMs = areApart ? LEASE_MS : LONG_LEASE_MS
	const input = { store, leaseMs, areApart, dependency: dependency.port }
	await using fleet = await ServerFleet.open(input, 2 * lanes)
	const random = seededRandom(`${seed} ${store.kind}`)
	const lane = async () => {
		// The second one gets the repeated requests, immediately: the lease of the first still lasts.
		let [server, next] = await Promise.all([fleet.start(), fleet.start()])
		while (totals.rounds < rounds) {
			const round = totals.rounds++
			const point = POINTS[round % POINTS.length] ?? 'random'
			const order = new Order(`${seed}-${store.kind}-${round}`, point, totals)
			await order.sendAndKill(server, Math.floor(random() * RANDOM_KILL_MS))
			const started = fleet.start()
			await order.repeat(next)
			order.check(dependency)
			server = next
			next = await started
		}
	}
	await Promise.all(Array.from({ length: lanes }, lane))
	return totals
}

/** On a machine that is so busy that a process gets no time for a heartbeat. */
const MAX_LOST_LEASES = 10

const isLeaseLost = ({ status, body }: Received): boolean =>
	status === 500 && body.includes('IdempotencyLeaseLostError')

class Order {
	readonly #key: string
	readonly #point: CrashPoint | 'random'
	readonly #totals: CrashTotals
	readonly #received: Received[] = []
	#lostLeases = 0

	constructor(key: string, point: CrashPoint | 'random', totals: CrashTotals) {
		this.#key = key
		this.#point = point
		this.#totals = totals
	}

	/** Sends the order to a server that is killed. */
	async sendAndKill(server: RunningServer, killAfterMs: number): Promise<void> {
		if (this.#point === 'random') setTimeout(() => server.kill(), killAfterMs)
		await this.#send(server, this.#point)
		await server.ended
		this.#totals.kills++
	}

	/** Sends the order to another server until there is a response, and then again. */
	async repeat(server: RunningServer): Promise<void> {
		let conflicts = 0
		for (const wanted = this.#received.length + 2; this.#received.length < wanted; ) {
			const received = await this.#send(server)
			if (received?.status === 201) continue
			if (received && isLeaseLost(received) && ++this.#lostLeases <= MAX_LOST_LEASES) continue
			if (received?.status === 409) this.#totals.conflicts++
			// A lease that is not extended ends while this waits.
			if (received?.status !== 409 || ++conflicts > MAX_CONFLICTS)
				return this.#find(`no response after ${conflicts} conflicts; the last status was ${received?.status}`)
			await new Promise((resolve) => setTimeout(resolve, LEASE_MS))
		}
	}

	/** Returns undefined if there was no complete response. */
	async #send(server: RunningServer, crash?: string): Promise<Received | undefined> {
		const agent = new Agent()
		try {
			const headers = { 'idempotency-key': this.#key, ...(crash ? { 'x-crash': crash } : {}) }
			const received = await post(agent, server.port, '/orders', headers)
			if (received.status === 201) this.#received.push(received)
			else if (received.status !== 409 && !isLeaseLost(received))
				this.#find(`status ${received.status}: ${received.body}`)
			return received
		} catch {
			return undefined
		} finally {
			agent.destroy()
		}
	}

	check(dependency: Dependency): void {
		const occurrences = dependency.occurrences(this.#key)
		const count = (what: Occurrence) => occurrences.filter((each) => each === what).length
		if (count('charged') !== 1) this.#find(`${count('charged')} charges`)
		const firstStored = occurrences.indexOf('mail stored')
		if (firstStored < 0) this.#find('the step of the mail was never stored')
		if (occurrences.lastIndexOf('mailed') > firstStored) this.#find('a mail after its step was stored')
		if (count('charge requested') > this.#maxRequests('before the step is stored'))
			this.#find('a charge was requested again')
		if (count('mailed') > this.#maxRequests('before its step is stored')) this.#find('a mail was sent again')
		const different = new Set(this.#received.map(({ status, body }) => `${status} ${body}`))
		if (different.size !== 1)
			this.#find(`${different.size} different responses: ${[...different].join(' | ')}`)
	}

	/** A step that was not stored when the process ended, or lost its lease, is repeated. */
	#maxRequests(repeatedAt: CrashPoint): number {
		const kills = this.#point === repeatedAt || this.#point === 'random' ? 1 : 0
		return 1 + kills + this.#lostLeases
	}

	#find(what: string): void {
		this.#totals.findings.push(`${this.#key}, killed at '${this.#point}': ${what}`)
	}
}
