import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { asctime, imfFixdate, rfc850 } from './dates.ts'

const PARSER = new URL('../../../src/http/headers/http-date.ts', import.meta.url).href
const NOW = Date.UTC(2026, 4, 15, 12)

/** Every half hour around daylight saving changes, and a few other days. */
const NIGHTS = [
	Date.UTC(2025, 2, 9),
	Date.UTC(2025, 10, 2),
	Date.UTC(2026, 2, 8),
	Date.UTC(1994, 3, 3),
	Date.UTC(1994, 10, 6),
	Date.UTC(2024, 1, 29),
	Date.UTC(2026, 0, 1),
]
const TIMES = NIGHTS.flatMap((night) => Array.from({ length: 48 }, (_, half) => night + half * 1_800_000))
const TEXTS = TIMES.flatMap((time) => [imfFixdate(time), rfc850(time), asctime(time)])

const PROGRAM = `
import { readFileSync } from 'node:fs'
const { parseHttpDate } = await import(${JSON.stringify(PARSER)})
const texts = JSON.parse(readFileSync(0, 'utf8'))
const offsets = [new Date(2026, 0).getTimezoneOffset(), new Date(2026, 6).getTimezoneOffset()]
console.log(JSON.stringify({ offsets, times: texts.map((text) => parseHttpDate(text, ${NOW})) }))
`

it.each([
	['UTC', [0, 0]],
	['America/New_York', [300, 240]],
	['Asia/Tokyo', [-540, -540]],
])('a date is the same moment on a machine in %s, also around daylight saving changes', (TZ, offsets) => {
	const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
		input: JSON.stringify(TEXTS),
		env: { ...process.env, TZ },
		encoding: 'utf8',
	})
	const answer: unknown = JSON.parse(printed)
	expect(answer).toEqual({ offsets, times: TIMES.flatMap((time) => [time, time, time]) })
})
