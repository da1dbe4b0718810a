/**
 * Fails a test file that leaves fake timers behind. Many files share a process, and in the files after it no timer would fire.
 */
import { afterAll, expect } from 'vitest'

const NAMES = ['setTimeout', 'setInterval', 'setImmediate', 'Date', 'performance'] as const
type Globals = Readonly<Record<(typeof NAMES)[number], unknown>>

/** The globals of this process before its first test file. */
const KEY = Symbol.for('yaoki.test.globals')
const store = globalThis as { [KEY]?: Globals }
store[KEY] ??= Object.fromEntries(NAMES.map((name) => [name, globalThis[name]])) as Globals
const real = store[KEY]

afterAll(() => {
	expect(NAMES.filter((name) => globalThis[name] !== real[name])).toEqual([])
})
