/** The files of the page. They are loaded with the first request, so that a program that only creates a dashboard does not read them. */
import type { PageFile } from './page-data.ts'
import { notFound, type Rejection } from './rejection.ts'
import { acceptsGzip, NOT_STORED, respond, through } from './responses.ts'
import { tokenCookie, tokenFor } from './token.ts'

type Bytes = Uint8Array<ArrayBuffer>

interface Asset {
	readonly type: string
	readonly gzip: Bytes
	readonly plain: Bytes
	readonly etag: string
}

interface Files {
	readonly assets: ReadonlyMap<string, Asset>
	readonly page: string
}

const PAGE = 'index.html'
const TOKEN = /(<meta name="?yaoki-token"? content=)(""|(?=[\s>]))/

export class PageFiles {
	#loading: Promise<Files> | undefined

	/** Responds with the page, which contains the token of its writes. */
	async page(request: Request): Promise<Response> {
		const { page } = await this.#files()
		const token = tokenFor(request)
		const headers = {
			...NOT_STORED,
			'content-type': 'text/html; charset=utf-8',
			'set-cookie': tokenCookie(token, request),
		}
		return respond(200, headers, page.replace(TOKEN, `$1"${token}"`))
	}

	/** Responds with a file that the page loads. Its name has no version, so a browser asks each time whether it has changed. */
	async asset(request: Request, name: string): Promise<Response | Rejection> {
		const asset = (await this.#files()).assets.get(name)
		if (!asset) return notFound()
		const { type, gzip, plain, etag } = asset
		const headers = { 'cache-control': 'private, no-cache', etag, vary: 'accept-encoding' }
		const known = request.headers.get('if-none-match')?.split(',') ?? []
		if (known.some((one) => one.trim() === etag)) return respond(304, headers, null)
		const described = { ...headers, 'content-type': type }
		return acceptsGzip(request)
			? respond(200, { ...described, 'content-encoding': 'gzip' }, gzip)
			: respond(200, described, plain)
	}

	#files(): Promise<Files> {
		this.#loading ??= loadFiles().catch((error) => {
			// The next request tries again.
			this.#loading = undefined
			throw error
		})
		return this.#loading
	}
}

async function loadFiles(): Promise<Files> {
	const { PAGE: files } = await import('./page-data.ts')
	const assets = new Map<string, Asset>()
	for (const [name, file] of Object.entries(files)) assets.set(name, await readFile(file))
	const page = new TextDecoder().decode(assets.get(PAGE)?.plain)
	// Only with its token the page is of use.
	assets.delete(PAGE)
	return { assets, page }
}

async function readFile({ type, gzip, text }: PageFile): Promise<Asset> {
	const both =
		gzip === undefined
			? await compressed(new TextEncoder().encode(text))
			: await decompressed(Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0)))
	const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', both.plain))
	// Weak, because both encodings have it.
	const etag = `W/"${Array.from(digest.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')}"`
	return { type, etag, ...both }
}

const compressed = async (plain: Bytes) => ({
	plain,
	gzip: await through(plain, new CompressionStream('gzip')),
})
const decompressed = async (gzip: Bytes) => ({
	gzip,
	plain: await through(gzip, new DecompressionStream('gzip')),
})
