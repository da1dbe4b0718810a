/**
 * Runs a test file with mutants. A test is repeated with one mutant after the other, in one process. After a test that fails, the same
 * test runs without a mutant: if it fails too, the mutant has damaged the state of the process, so it is reported as suspect and the
 * process ends. A suspect runs alone later.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import {
	type RunnerTask,
	type RunnerTestCase,
	type RunnerTestFile,
	TestRunner,
	type TestTryOptions,
} from 'vitest'
import type { Entry, ExploredTest, Job } from './job.ts'

declare global {
	var activeMutant: ((id: number) => boolean) | undefined
}

/** A test with a mutant that costs so many times as much as the test alone is in an endless loop. A time would depend on the machine. */
const ENDLESS_FACTOR = 20
const FREE_STEPS = 1_000_000
const FREE_CPU_MS = 5_000
/** A test that waits for so many times as many ticks of the event loop waits forever. On a busy machine, ticks are late too. */
const WAITING_FACTOR = 5
const FREE_TICKS = 20
const TICK_MS = 100
/** Vitest's listener and the one below. A test that has its own expects the error. */
const OWN_LISTENERS = 2

const folder = process.env['MUTATE_FOLDER'] ?? ''
const job: Job = JSON.parse(readFileSync(`${folder}/job`, 'utf8'))
// Tests replace the timers.
const { setImmediate } = globalThis

// The smallest counterexample is not needed, and finding it takes long.
fc.configureGlobal({ endOnFailure: true, seed: 1 })

const report = (entry: Entry) => appendFileSync(`${folder}/report`, `${JSON.stringify(entry)}\n`)

let active = job.type === 'alone' ? job.mutant : 0
let steps = 0
let maxSteps = Infinity
let ticks = 0
let maxTicks = Infinity
let onWaiting: ((error: Error) => void) | undefined
const outside = new Set<number>()
let reached = outside

globalThis.activeMutant = (id) => {
	if (job.type === 'explore') reached.add(id)
	steps++
	if (steps > maxSteps) throw new Error('endless loop')
	return id === active
}

setInterval(() => {
	ticks++
	if (ticks > maxTicks) onWaiting?.(new Error('waits forever'))
}, TICK_MS).unref()

/** The number of tries, and the time on the CPU that the current one may take. */
const shared = new Int32Array(new SharedArrayBuffer(8))
/** Ends an endless loop outside of mutated code, where no timeout can fire. */
const watchdog = `
	const { workerData: shared } = require('node:worker_threads')
	let last = 0
	let start = process.cpuUsage()
	setInterval(() => {
		const current = Atomics.load(shared, 0)
		if (current !== last) start = process.cpuUsage()
		last = current
		const { user } = process.cpuUsage(start)
		if (current > 0 && user / 1_000 > Atomics.load(shared, 1)) process.kill(process.pid, 'SIGKILL')
	}, 500)`
new Worker(watchdog, { eval: true, workerData: shared }).unref()

export default class MutationRunner extends TestRunner {
	/** Mutants that need no further test. */
	readonly #settled = new Set<number>()
	readonly #explored: ExploredTest[] = []
	/** The mutants of the current test. */
	#mutants: readonly number[] = []
	#isStopped = false
	#hasUnhandledError = false
	#cpuAtStart = process.cpuUsage()
	/** Whether the last try of the current test failed. */
	#hasFailed = false
	#hasTimedOut = false
	#firstTryPassed = false

	constructor(...options: ConstructorParameters<typeof TestRunner>) {
		super(...options)
		for (const event of ['unhandledRejection', 'uncaughtException'])
			process.on(event, () => {
				this.#hasUnhandledError ||= process.listenerCount(event) <= OWN_LISTENERS
			})
	}

	override async onBeforeRunTask(test: RunnerTask): Promise<void> {
		if (test.type === 'test') this.#plan(test)
		await super.onBeforeRunTask(test)
	}

	#plan(test: RunnerTestCase): void {
		this.#hasFailed = false
		if (job.type === 'explore') test.repeats = 1
		if (job.type === 'alone' && (this.#isStopped || job.skipped.includes(test.id))) test.mode = 'skip'
		if (job.type === 'repeat') {
			this.#mutants = (job.mutants[test.id] ?? []).filter((mutant) => !this.#settled.has(mutant))
			// Each mutant is followed by a try without it, which runs only if it is needed.
			test.repeats = 2 * this.#mutants.length - 1
			if (this.#isStopped || this.#mutants.length === 0) test.mode = 'skip'
		}
	}

	override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
		super.onBeforeTryTask(test, options)
		steps = 0
		ticks = 0
		const {
			steps: expectedSteps = Infinity,
			cpuMs = 60_000,
			ticks: expectedTicks = Infinity,
		} = job.type === 'explore' ? {} : (job.costs[test.id] ?? {})
		maxSteps = ENDLESS_FACTOR * expectedSteps + FREE_STEPS
		maxTicks = WAITING_FACTOR * expectedTicks + FREE_TICKS
		Atomics.store(shared, 1, ENDLESS_FACTOR * cpuMs + FREE_CPU_MS)
		Atomics.add(shared, 0, 1)
		this.#cpuAtStart = process.cpuUsage()
		if (job.type === 'explore') reached = new Set(options.repeats === 0 ? [] : reached)
		if (job.type === 'repeat' && this.#runs(options.repeats) && options.repeats % 2 === 0) {
			active = this.#mutants[options.repeats / 2] ?? 0
			report({ type: 'run', test: test.id, mutant: active })
		}
	}

	/** Whether a try of a repeated test has something to find out. */
	#runs(repeats: number): boolean {
		return !this.#isStopped && (repeats % 2 === 0 || this.#hasFailed)
	}

	async runTask(test: RunnerTestCase): Promise<void> {
		if (job.type === 'repeat' && !this.#runs(test.result?.repeatCount ?? 0)) return
		const waiting = new Promise<never>((_, reject) => {
			onWaiting = reject
		})
		await Promise.race([TestRunner.getTestFn(test)(), waiting])
	}

	override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
		await super.onAfterRetryTask(test, options)
		// An unhandled rejection is reported after all microtasks.
		await new Promise((resolve) => setImmediate(resolve))
		const hasFailed = test.result?.state === 'fail'
		const hasTimedOut = hasFailed && ticks > maxTicks
		if (job.type === 'explore') this.#recordExplored(test, options.repeats, hasFailed)
		else if (job.type === 'alone') this.#judgeAlone(job.mutant, hasFailed, hasTimedOut)
		else if (this.#runs(options.repeats)) this.#judgeTry(options.repeats, hasFailed, hasTimedOut)
	}

	#recordExplored({ id, fullTestName }: RunnerTestCase, repeats: number, hasFailed: boolean): void {
		if (repeats === 0) {
			this.#firstTryPassed = !hasFailed
			return
		}
		const passes = hasFailed ? 'once' : 'twice'
		this.#explored.push({
			id,
			name: fullTestName,
			reached: [...reached],
			steps,
			ticks,
			cpuMs: process.cpuUsage(this.#cpuAtStart).user / 1_000,
			passes: this.#firstTryPassed ? passes : 'never',
		})
		reached = outside
	}

	#judgeAlone(mutant: number, hasFailed: boolean, hasTimedOut: boolean): void {
		if (this.#isStopped || !(hasFailed || this.#hasUnhandledError)) return
		this.#isStopped = true
		report({ type: hasTimedOut ? 'timeout' : 'killed', mutant })
	}

	#judgeTry(repeats: number, hasFailed: boolean, hasTimedOut: boolean): void {
		const mutant = this.#mutants[Math.floor(repeats / 2)] ?? 0
		active = 0
		const isControl = repeats % 2 === 1
		if (this.#hasUnhandledError || (isControl && hasFailed)) {
			this.#isStopped = true
			report({ type: 'suspect', mutant })
		} else if (isControl) {
			this.#settled.add(mutant)
			report({ type: this.#hasTimedOut ? 'timeout' : 'killed', mutant })
		}
		this.#hasFailed = hasFailed && !isControl
		this.#hasTimedOut = hasTimedOut
	}

	override onAfterRunFiles(files: RunnerTestFile[]): void {
		super.onAfterRunFiles(files)
		// Without tests, the import has failed.
		if (job.type === 'explore' && files.every(({ tasks }) => tasks.length > 0))
			report({ type: 'explored', outside: [...outside], tests: this.#explored })
		// A mutant that is active during the import may fail without a test.
		if (job.type === 'alone')
			this.#judgeAlone(
				job.mutant,
				files.some(({ result }) => result?.state === 'fail'),
				false,
			)
		report({ type: 'end' })
	}
}
