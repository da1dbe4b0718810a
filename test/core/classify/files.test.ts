/** Errors of the file system, of programs and of sockets in the file system. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, rmdir, symlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import { catchFailure, PERMANENT, TRANSIENT } from './expected.ts'

const folder = mkdtempSync(join(tmpdir(), 'yaoki-files-'))
afterAll(() => rmSync(folder, { recursive: true }))
const at = (name: string) => join(folder, name)
mkdirSync(at('full'))
writeFileSync(at('full/file'), '')

test.each<[string, () => Promise<unknown>]>([
	['ENOENT', () => readFile(at('missing'))],
	['EEXIST', () => mkdir(at('full'))],
	['EISDIR', () => readFile(at('full'))],
	['ENOTDIR', () => readdir(at('full/file'))],
	['ENOTEMPTY', () => rmdir(at('full'))],
	['ENAMETOOLONG', () => rm(at('n'.repeat(1_000)))],
	['ELOOP', () => symlink(at('loop'), at('loop')).then(() => readFile(at('loop')))],
])('a real %s is permanent', async (code, call) => {
	const error = await catchFailure(call)
	expect(error).toHaveProperty('code', code)
	expect(classify(error)).toEqual(PERMANENT)
	expect(classify(new Error('loading failed', { cause: error }))).toEqual(PERMANENT)
})

test('a program that does not exist is permanent', async () => {
	const error = await catchFailure(() => once(spawn(at('missing')), 'exit'))
	expect(error).toHaveProperty('code', 'ENOENT')
	expect(classify(error)).toEqual(PERMANENT)
})

test('a Unix socket that does not exist is a network failure: its server may not be running yet', async () => {
	const error = await catchFailure(() => once(connect(at('missing.sock')), 'connect'))
	expect(error).toHaveProperty('code', 'ENOENT')
	expect(classify(error)).toEqual(TRANSIENT)
	expect(isRetryableNetworkError(error)).toBe(true)
})

test.each(['EACCES', 'EINVAL', 'EPERM', 'EROFS', 'EXDEV', 'EBADF', 'EFBIG', 'ENOSYS', 'ENOTSUP'])(
	'code %s is permanent, also at the start of a message',
	(code) => {
		expect(classify(Object.assign(new Error('Other'), { code }))).toEqual(PERMANENT)
		expect(classify(new Error(`${code}: operation failed, open 'timeout'`))).toEqual(PERMANENT)
	},
)

test.each(['EBUSY', 'EAGAIN', 'EMFILE', 'ENFILE'])('code %s is transient', (code) => {
	expect(classify(Object.assign(new Error('Other'), { code }))).toEqual(TRANSIENT)
})
