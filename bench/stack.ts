/**
 * Bulkhead, breaker, retry and timeout around an async function that succeeds, compared with the same four policies of the
 * peers. A peer that has only one of them is measured with that one. Cockatiel is measured with both of its timeouts. The
 * cooperative timeout only aborts the signal and is cheaper, so the figures are compared with it. The aggressive timeout
 * also rejects if the operation ignores the signal, as Yaoki's does.
 */
import { TimeoutStrategy } from 'cockatiel'
import { Effect, Schedule, Scope, Semaphore } from 'effect'
import * as EffectBreaker from 'effect/persistence/CircuitBreaker'
import Opossum from 'opossum'
import pLimit from 'p-limit'
import PQueue from 'p-queue'
import { byHandStack } from './by-hand.ts'
import { cockatielFour, yaokiFour } from './creation.ts'
import { bytes, column, type Report, times } from './figure.ts'
import { calling, line, race, ratioOf } from './harness.ts'
import { microtaskTurns } from './turns.ts'
import { bytesAllocated } from './weigh.ts'

const work = async () => 1

const yaoki = yaokiFour()

/**
 * The four policies of Effect in the same order. Its breaker is experimental, so the other three are also measured without
 * it. A program written in Effect calls `runPromise` once; code that calls Effect from promises, as here, calls it each time.
 */
async function effects() {
	const breaker = await Effect.runPromise(
		EffectBreaker.make({
			tripPolicy: EffectBreaker.consecutive(5),
			openDuration: '30 seconds',
		}).pipe(
			Effect.provide(EffectBreaker.layerStoreMemory()),
			// The scope never closes: the breaker outlives this effect, as the other contenders' breakers do.
			Effect.provideService(Scope.Scope, Scope.makeUnsafe()),
		),
	)
	const attempts = Effect.tryPromise(work).pipe(
		Effect.timeout('5 seconds'),
		Effect.retry({ times: 3, schedule: Schedule.jittered(Schedule.exponential('1 second')) }),
	)
	const permits = () => Semaphore.makeUnsafe(10).withPermits(1)
	return {
		three: attempts.pipe(permits()),
		four: attempts.pipe(breaker.execute({ key: 'bench' }), permits()),
	}
}

export async function stack(): Promise<Report> {
	const effect = await effects()
	const byHand = byHandStack()
	const cooperative = cockatielFour(TimeoutStrategy.Cooperative)
	const aggressive = cockatielFour(TimeoutStrategy.Aggressive)
	const notAborting = cockatielFour(TimeoutStrategy.Cooperative, false)
	const [opossum, untimed] = [new Opossum(work), new Opossum(work, { timeout: false })]
	const limit = pLimit(10)
	const queue = new PQueue({ concurrency: 10 })
	const calls: Record<string, () => Promise<unknown>> = {
		'bare await': work,
		yaoki: () => yaoki.execute(work),
		'by hand': () => byHand(work),
		'cockatiel 4': () => cooperative.execute(work),
		'cockatiel 4, aggressive timeout': () => aggressive.execute(work),
		'cockatiel 4, abortOnReturn off': () => notAborting.execute(work),
		'opossum 10, breaker alone': () => opossum.fire(),
		'opossum 10, breaker without timeout': () => untimed.fire(),
		'p-limit 7, alone': () => limit(work),
		'p-queue 10, alone': () => queue.add(work),
		'Effect 4': () => Effect.runPromise(effect.four),
		'Effect 4, without its breaker': () => Effect.runPromise(effect.three),
	}
	const rows = await race(
		Object.entries(calls).map(([name, call]) => calling(name, call)),
		{ rounds: 25, count: 20_000 },
	)
	const costs: { name: string; turns: number; bytes: number }[] = []
	for (const [name, call] of Object.entries(calls))
		costs.push({ name, turns: await microtaskTurns(call), bytes: await bytesAllocated(call) })
	opossum.shutdown()
	untimed.shutdown()

	const ours = ratioOf(rows, 'yaoki')
	const wrapped = ratioOf(rows, 'cockatiel 4')
	const our = costs.find(({ name }) => name === 'yaoki')
	const [turns = Number.NaN, allocated = Number.NaN] = [our?.turns, our?.bytes]
	const figure = 'four policies around a success'
	return {
		title: 'Bulkhead, breaker, retry and timeout around an async function that succeeds',
		lines: [
			...rows.map(line),
			'turns of the microtask queue until the caller goes on, and bytes allocated by one call:',
			...costs.map((cost) => column(cost.name, String(cost.turns), bytes(cost.bytes))),
		],
		figures: [
			{ figure, asked: 'at most 5.00 x a bare await', measured: times(ours), reached: ours <= 5 },
			{
				figure,
				asked: `at most a twentieth of cockatiel's wrap (${times(wrapped)})`,
				measured: `1/${(wrapped / ours).toFixed(1)}`,
				reached: ours * 20 <= wrapped,
			},
			...['opossum 10, breaker alone', 'opossum 10, breaker without timeout'].map((name) => ({
				figure,
				asked: `below ${name} (${times(ratioOf(rows, name))})`,
				measured: times(ours),
				reached: ours < ratioOf(rows, name),
			})),
			{ figure, asked: 'at most 3 microtask turns', measured: String(turns), reached: turns <= 3 },
			{
				figure,
				asked: 'at most 1,500 bytes allocated',
				measured: bytes(allocated),
				reached: allocated <= 1500,
			},
		],
		data: { rows, costs },
	}
}
