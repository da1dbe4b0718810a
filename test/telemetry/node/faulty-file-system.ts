/** A file system that fails at random, also in the middle of a write. */
import { type FileSystem, nodeFileSystem } from '../../../src/telemetry/node/rotating-file.ts'

function failure(code: string): Error {
	return Object.assign(new Error(`${code}: injected`), { code })
}

export interface Faults {
	/** The probability that an operation fails. */
	rate: number
}

export function faultyFileSystem(random: () => number, faults: Faults): FileSystem {
	const maybeFail = (code: string) => {
		if (random() < faults.rate) throw failure(code)
	}
	return {
		async open(path, flags, mode) {
			maybeFail('EACCES')
			const file = await nodeFileSystem.open(path, flags, mode)
			let isFull = false
			// Methods of a FileHandle need the handle as `this`.
			return {
				close: () => file.close(),
				stat: (() => file.stat()) as typeof file.stat,
				read: file.read.bind(file),
				write: (async (chunk: Buffer, offset: number, length: number) => {
					if (isFull) throw failure('ENOSPC')
					// A disk that is almost full takes a part, often all but the last byte, and fails at the next write.
					isFull = random() < faults.rate
					const part = isFull ? Math.min(length - 1, Math.floor(random() * 1.5 * length)) : length
					if (part === 0) throw failure('ENOSPC')
					return await file.write(chunk, offset, part)
				}) as typeof file.write,
			}
		},
		async rename(from, to) {
			maybeFail('EPERM')
			await nodeFileSystem.rename(from, to)
		},
		async rm(path, options) {
			maybeFail('EPERM')
			await nodeFileSystem.rm(path, options)
		},
		async stat(path) {
			maybeFail('EIO')
			return await nodeFileSystem.stat(path)
		},
	}
}
