import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { mail } from '../../../src/sim/scenarios/mail.ts'
import { type Column, percent, Studied, seconds, tenths } from './studied.ts'

const study = new Studied(mail)
const busy = ({ services }: SimulationResult): number => services['server']?.utilization ?? Number.NaN
/** The wait of the last mail divided by the median wait: 2 in a queue. */
const lastToMiddle = ({ totals: { latency } }: SimulationResult): number => latency.maxMs / latency.p50Ms

const COLUMNS: readonly Column[] = [
	['last mail sent after', 'lastResponseAtMs', seconds],
	['attempts per mail', 'amplification', tenths],
	['server busy', busy, percent],
	['last wait / median wait', lastToMiddle, tenths],
]
const QUEUE = 'queue at the server'
const WITH_JITTER = ['equal jitter', 'full jitter', 'decorrelated jitter']

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/mail.md', 'strategy', COLUMNS)
})

test('every mail is sent', () => {
	for (const name of study.names)
		expect(study.mean(name, ({ clients }) => clients['senders']?.good ?? 0)).toBe(100)
})

test('exponential delays without jitter take 15 times as long as any jitter, with an idle server', () => {
	const none = study.mean('exponential, no jitter', 'lastResponseAtMs')
	for (const name of WITH_JITTER) expect(none).toBeGreaterThan(15 * study.mean(name, 'lastResponseAtMs'))
	expect(study.mean('exponential, no jitter', busy)).toBeLessThan(0.05)
})

test('a retry every second is no faster than full jitter, for more than eight times the attempts', () => {
	const [same, full] = ['constant delay', 'full jitter']
	expect(study.mean(same, 'lastResponseAtMs')).toBeGreaterThan(study.mean(full, 'lastResponseAtMs'))
	expect(study.mean(same, 'amplification')).toBeGreaterThan(8 * study.mean(full, 'amplification'))
})

test('a queue at the server is the fastest and as fair as any, with one attempt per mail', () => {
	expect(study.mean(QUEUE, 'amplification')).toBe(1)
	expect(study.mean(QUEUE, busy)).toBeGreaterThan(0.999)
	for (const name of study.names.filter((other) => other !== QUEUE)) {
		expect(study.mean(QUEUE, 'lastResponseAtMs')).toBeLessThan(study.mean(name, 'lastResponseAtMs'))
		expect(study.mean(QUEUE, lastToMiddle)).toBeLessThan(study.mean(name, lastToMiddle) + 0.05)
	}
})

test('growing delays are unfair: with jitter the last mail waits far longer than the median', () => {
	for (const name of WITH_JITTER)
		expect(study.mean(name, lastToMiddle)).toBeGreaterThan(study.mean('constant delay', lastToMiddle))
})
