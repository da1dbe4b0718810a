/**
 * Relays that are killed at random moments and replaced, in virtual time: what deployments without SIGTERM and a machine that runs out of memory do.
 * Messages arrive all the time, so that some of them are claimed during several kills in a row.
 */
import type { RelayOptions } from 'yaoki/outbox'
import type { Message } from '../../../src/outbox/message/message.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { Process } from './process.ts'
import type { TestSystem } from './setup.ts'

export interface Kills {
	readonly seed: number | string
	readonly kills: number
	readonly relays: number
	/** The mean time between two kills. */
	readonly meanMs: number
	/** The longest time that a handler takes. */
	readonly handlerMs: number
	/** The mean time between two new messages. */
	readonly arrivalMs: number
	readonly options: RelayOptions
}

export interface KillReport {
	/** Kills from outside. */
	readonly kills: number
	/** Processes that the message with the payload `poison` crashed. */
	readonly crashes: number
}

/** Kills relays from outside as configured; a message with the payload `poison` crashes its own process too. */
export async function runKilled(system: TestSystem, given: Kills): Promise<KillReport> {
	const { clock } = system
	const random = seededRandom(given.seed)
	const exponential = (meanMs: number): number => -Math.log(1 - random()) * meanMs
	const running: Process[] = []
	let crashes = 0

	const start = async (at: number): Promise<void> => {
		const one = new Process(system)
		running[at] = one
		const deliver = async ({ payload }: Message): Promise<void> => {
			if (payload === 'poison') {
				crashes++
				one.kill()
				void start(at)
				return one.pause(0)
			}
			await one.pause(random() * given.handlerMs)
		}
		// The start of a process that is killed meanwhile never ends.
		void one.relay({ jobs: deliver }, given.options)
	}

	for (let at = 0; at < given.relays; at++) await start(at)
	let kills = 0
	let nextKillMs = exponential(given.meanMs)
	let nextMessageMs = 0
	while (kills < given.kills) {
		const stepMs = Math.min(nextKillMs, nextMessageMs)
		await clock.advance(stepMs)
		nextKillMs -= stepMs
		nextMessageMs -= stepMs
		if (nextMessageMs <= 0) {
			await system.enqueue(1)
			nextMessageMs = exponential(given.arrivalMs)
		}
		if (nextKillMs > 0) continue
		const at = Math.floor(random() * given.relays)
		running[at]?.kill()
		kills++
		await start(at)
		nextKillMs = exponential(given.meanMs)
	}
	// Without further kills everything has to end.
	await clock.advance(60_000)
	for (const one of running) await one[Symbol.asyncDispose]()
	return { kills, crashes }
}
