import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { mail } from '../../../src/sim/scenarios/mail.ts'
import { type Column, percent, Studied, seconds, tenths } from './studied.ts'

const study = new Studied(mail)
const busy = ({ services }: SimulationResult): number => services['server']?.utilization ?? Number.NaN
/** How many times as long as the middle one the last mail waited: 2 in a line where everybody moves up. */
const lastToMiddle = ({ totals: { latency } }: SimulationResult): number => latency.maxMs / latency.p50Ms

const COLUMNS: readonly Column[] = [
	['the last mail is out after', 'lastResponseAtMs', seconds],
	['attempts a mail', 'amplification', tenths],
	['the server is busy', busy, percent],
	['last wait to middle wait', lastToMiddle, tenths],
]
const LINE = 'a line at the server'
const WITH_JITTER = ['equal jitter', 'full jitter', 'decorrelated jitter']

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/mail.md', 'strategy', COLUMNS)
})

test('every mail gets out', () => {
	for (const name of study.names)
		expect(study.mean(name, ({ clients }) => clients['senders']?.good ?? 0)).toBe(100)
})

test('growing waits without jitter take 15 times as long as any jitter, for the server is idle nearly all the time', () => {
	const none = study.mean('exponential, no jitter', 'lastResponseAtMs')
	for (const name of WITH_JITTER) expect(none).toBeGreaterThan(15 * study.mean(name, 'lastResponseAtMs'))
	expect(study.mean('exponential, no jitter', busy)).toBeLessThan(0.05)
})

test('asking every second is no quicker than full jitter, for eight times the attempts and more', () => {
	const [same, full] = ['the same wait', 'full jitter']
	expect(study.mean(same, 'lastResponseAtMs')).toBeGreaterThan(study.mean(full, 'lastResponseAtMs'))
	expect(study.mean(same, 'amplification')).toBeGreaterThan(8 * study.mean(full, 'amplification'))
})

test('a line at the server is the quickest and as fair as any, with one attempt', () => {
	expect(study.mean(LINE, 'amplification')).toBe(1)
	expect(study.mean(LINE, busy)).toBeGreaterThan(0.999)
	for (const name of study.names.filter((other) => other !== LINE)) {
		expect(study.mean(LINE, 'lastResponseAtMs')).toBeLessThan(study.mean(name, 'lastResponseAtMs'))
		expect(study.mean(LINE, lastToMiddle)).toBeLessThan(study.mean(name, lastToMiddle) + 0.05)
	}
})

test('waits that grow are unfair to who has waited long: with jitter the last waits far longer than the middle one', () => {
	for (const name of WITH_JITTER)
		expect(study.mean(name, lastToMiddle)).toBeGreaterThan(study.mean('the same wait', lastToMiddle))
})
