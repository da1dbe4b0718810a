/**
 * A file of lines with a limited size: when it is full, it becomes `path.1`, `path.1` becomes `path.2`, and
 * the oldest is deleted.
 *
 * The file is checked before each append, because others change it: an operator deletes it, logrotate renames
 * or truncates it, a crash leaves half a line. An append that fails closes the file; the next one opens it
 * again and ends the broken line, so that a line is complete or unreadable and never mixed with another.
 */
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'

/** The part of `node:fs/promises` that is used. */
export interface FileSystem {
	open(
		path: string,
		flags: string,
		mode: number,
	): Promise<Pick<FileHandle, 'close' | 'read' | 'stat' | 'write'>>
	rename(from: string, to: string): Promise<void>
	rm(path: string, options: { readonly force: boolean }): Promise<void>
	stat(path: string): Promise<FileIdentity>
}

interface FileIdentity {
	readonly dev: number
	readonly ino: number
	readonly size: number
}

export const nodeFileSystem: FileSystem = { open, rename, rm, stat }

export interface FileLimits {
	readonly maxBytes: number
	readonly maxFiles: number
}

/** The result of an append. After an error, only the first `lines` are in the file. */
export interface AppendResult {
	readonly lines: number
	readonly bytes: number
	readonly error?: unknown
}

/** One write is not larger than this, unless a line is. */
const MAX_WRITE_BYTES = 1_024 * 1_024

/** Events may contain personal data. A file that exists keeps its mode, so that operators can change it. */
const MODE = 0o600

const NEWLINE = 0x0a
const LINE_BREAK: Buffer = Buffer.of(NEWLINE)

type OpenFile = Awaited<ReturnType<FileSystem['open']>>

export class RotatingFile {
	readonly #path: string
	readonly #limits: FileLimits
	readonly #fileSystem: FileSystem
	#file: OpenFile | undefined

	constructor(path: string, limits: FileLimits, fileSystem: FileSystem = nodeFileSystem) {
		this.#path = path
		this.#limits = limits
		this.#fileSystem = fileSystem
	}

	/** Appends as many lines as one write takes, at least one. Never rejects. */
	async append(lines: readonly Buffer[]): Promise<AppendResult> {
		try {
			let { file, size, isBroken } = await this.#prepare()
			if (size > 0 && size + (lines[0]?.length ?? 0) + (isBroken ? 1 : 0) > this.#limits.maxBytes) {
				await this.#rotate()
				;({ file, size, isBroken } = await this.#prepare())
			}
			const taken = this.#take(lines, size + (isBroken ? 1 : 0))
			return await this.#write(file, taken, isBroken)
		} catch (error) {
			await this.close()
			return { lines: 0, bytes: 0, error }
		}
	}

	/** Never rejects: a failed close has nothing left to save. */
	async close(): Promise<void> {
		const file = this.#file
		this.#file = undefined
		await file?.close().catch(() => {})
	}

	/** Returns the open file and its size. `isBroken`: its last line has no end. */
	async #prepare(): Promise<{ file: OpenFile; size: number; isBroken: boolean }> {
		if (this.#file) {
			const size = await this.#sizeOfOpenFile(this.#file)
			if (size !== undefined) return { file: this.#file, size, isBroken: false }
			await this.close()
		}
		// `a+` appends at the end, wherever that is, and allows reading the last byte.
		const file = await this.#fileSystem.open(this.#path, 'a+', MODE)
		this.#file = file
		const { size } = await file.stat()
		if (size === 0) return { file, size, isBroken: false }
		const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
		return { file, size, isBroken: bytesRead === 1 && buffer[0] !== NEWLINE }
	}

	/** Returns undefined if the path no longer leads to the open file. */
	async #sizeOfOpenFile(file: OpenFile): Promise<number | undefined> {
		const [atPath, opened] = await Promise.all([
			this.#fileSystem.stat(this.#path).catch(() => undefined),
			file.stat(),
		])
		return atPath && atPath.ino === opened.ino && atPath.dev === opened.dev ? opened.size : undefined
	}

	/** Shifts up to the first free name: repeating a failed rotation must not push out older files. */
	async #rotate(): Promise<void> {
		await this.close()
		const last = this.#limits.maxFiles - 1
		if (last === 0) {
			await this.#fileSystem.rm(this.#path, { force: true })
			return
		}
		let free = 1
		while (free < last && (await this.#exists(this.#nameOf(free)))) free++
		for (let number = free; number > 0; number--)
			await this.#fileSystem.rename(this.#nameOf(number - 1), this.#nameOf(number))
	}

	#nameOf(number: number): string {
		return number === 0 ? this.#path : `${this.#path}.${number}`
	}

	async #exists(path: string): Promise<boolean> {
		try {
			await this.#fileSystem.stat(path)
			return true
		} catch (error) {
			if (Object(error).code === 'ENOENT') return false
			throw error
		}
	}

	/** Returns the lines that fit into the file and into one write. */
	#take(lines: readonly Buffer[], size: number): readonly Buffer[] {
		let [bytes, count] = [0, 0]
		for (const { length } of lines) {
			bytes += length
			if (count > 0 && (size + bytes > this.#limits.maxBytes || bytes > MAX_WRITE_BYTES)) break
			count++
		}
		return lines.slice(0, count)
	}

	async #write(file: OpenFile, lines: readonly Buffer[], isBroken: boolean): Promise<AppendResult> {
		const prefix = isBroken ? 1 : 0
		const chunk = Buffer.concat(isBroken ? [LINE_BREAK, ...lines] : lines)
		let offset = 0
		try {
			while (offset < chunk.length) {
				const { bytesWritten } = await file.write(chunk, offset, chunk.length - offset)
				if (bytesWritten === 0) throw new Error('the file accepts no more bytes')
				offset += bytesWritten
			}
		} catch (error) {
			await this.close()
			return { ...completeLines(lines, offset - prefix), error }
		}
		return { lines: lines.length, bytes: chunk.length - prefix }
	}
}

/**
 * Counts the lines in the first bytes. A line is complete without its line break, too: the next append adds
 * that.
 */
function completeLines(lines: readonly Buffer[], bytes: number): AppendResult {
	let [end, count] = [0, 0]
	for (const { length } of lines) {
		if (end + length - 1 > bytes) break
		end += length
		count++
	}
	return { lines: count, bytes: Math.max(0, Math.min(end, bytes)) }
}
