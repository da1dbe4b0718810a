/** Runs before each test file of a mutation run: makes one mutant active, and records which mutants the tests reach. */
import { appendFileSync, readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { afterAll, beforeEach, expect } from 'vitest'

declare global {
	var activeMutant: ((id: number) => boolean) | undefined
}

const folder = process.env['MUTATE_FOLDER'] ?? ''
const active = Number(readFileSync(`${folder}/active`, 'utf8'))
const skipped = new Set<string>(JSON.parse(readFileSync(`${folder}/skipped`, 'utf8')))

// The smallest counterexample is not needed, and finding it takes long.
fc.configureGlobal({ endOnFailure: true, seed: 1 })

/** A mutant that is asked for this often is in an endless loop. */
const ENDLESS = 20_000_000
/** Kills the process of a test file that takes longer: in an endless loop without the mutant, no timeout of a test can fire. */
const WATCHDOG_MS = 120_000
let asked = 0
const reached = new Set<number>()

globalThis.activeMutant = (id) => {
	if (active === 0) reached.add(id)
	if (id !== active) return false
	asked++
	if (asked > ENDLESS) throw new Error('endless loop')
	return true
}

beforeEach(({ task, skip }) => skip(skipped.has(task.fullTestName)))

if (active !== 0) {
	const code = `setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${WATCHDOG_MS})`
	const watchdog = new Worker(code, { eval: true })
	watchdog.unref()
	afterAll(() => watchdog.terminate())
}

if (active === 0)
	afterAll(() => {
		const file = expect.getState().testPath
		appendFileSync(`${folder}/reached`, `${JSON.stringify({ file, reached: [...reached] })}\n`)
	})
