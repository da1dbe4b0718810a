/** Makes a screenshot small: at most 256 colors, one byte per pixel. For images of 8-bit RGB, as Chromium writes them. */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE_BYTES = 8
const MAX_COLORS = 256

export function shrinkPng(png: Buffer): Buffer {
	const { header, data } = read(png)
	const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
	if (header[8] !== 8 || header[9] !== 2 || header[12] !== 0) throw new Error('Expected a PNG of 8-bit RGB')
	const pixels = unfilter(inflateSync(data), width, height)
	const counts = new Map<number, number>()
	for (let at = 0; at < pixels.length; at += 3) {
		const color = pixels.readUIntBE(at, 3)
		counts.set(color, (counts.get(color) ?? 0) + 1)
	}
	const palette = [...counts]
		.sort((a, b) => b[1] - a[1])
		.slice(0, MAX_COLORS)
		.map(([color]) => color)
	const indexes = new Map([...counts.keys()].map((color) => [color, nearest(color, palette)]))
	const rows = Buffer.alloc((width + 1) * height)
	for (let y = 0; y < height; y++)
		for (let x = 0; x < width; x++)
			rows[y * (width + 1) + 1 + x] = indexes.get(pixels.readUIntBE((y * width + x) * 3, 3)) ?? 0
	const colors = Buffer.alloc(palette.length * 3)
	for (const [index, color] of palette.entries()) colors.writeUIntBE(color, index * 3, 3)
	const indexed = Buffer.from(header)
	indexed[9] = 3
	return Buffer.concat([
		png.subarray(0, SIGNATURE_BYTES),
		chunk('IHDR', indexed),
		chunk('PLTE', colors),
		chunk('IDAT', deflateSync(rows, { level: 9 })),
		chunk('IEND', Buffer.alloc(0)),
	])
}

function read(png: Buffer): { header: Buffer; data: Buffer } {
	let header = Buffer.alloc(0)
	const data: Buffer[] = []
	for (let at = SIGNATURE_BYTES; at < png.length; ) {
		const length = png.readUInt32BE(at)
		const type = png.toString('latin1', at + 4, at + 8)
		const body = png.subarray(at + 8, at + 8 + length)
		if (type === 'IHDR') header = Buffer.from(body)
		if (type === 'IDAT') data.push(body)
		at += length + 12
	}
	return { header, data: Buffer.concat(data) }
}

/** Each byte of a PNG is stored as the difference from its neighbors. */
function unfilter(raw: Buffer, width: number, height: number): Buffer {
	const stride = width * 3
	const pixels = Buffer.alloc(stride * height)
	for (let y = 0; y < height; y++) {
		const filter = raw[y * (stride + 1)] ?? 0
		for (let x = 0; x < stride; x++) {
			const at = y * stride + x
			const left = x >= 3 ? (pixels[at - 3] ?? 0) : 0
			const up = y > 0 ? (pixels[at - stride] ?? 0) : 0
			const corner = x >= 3 && y > 0 ? (pixels[at - stride - 3] ?? 0) : 0
			const expected = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0
			pixels[at] = (raw[y * (stride + 1) + 1 + x] ?? 0) + expected
		}
	}
	return pixels
}

function paeth(left: number, up: number, corner: number): number {
	const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
	return a <= b && a <= c ? left : b <= c ? up : corner
}

function nearest(color: number, palette: readonly number[]): number {
	const distance = (other: number): number =>
		[16, 8, 0].reduce((sum, bits) => sum + (((color >> bits) & 255) - ((other >> bits) & 255)) ** 2, 0)
	let best = 0
	for (const [index, other] of palette.entries())
		if (distance(other) < distance(palette[best] ?? 0)) best = index
	return best
}

function chunk(type: string, body: Buffer): Buffer {
	const named = Buffer.concat([Buffer.from(type, 'latin1'), body])
	const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
	length.writeUInt32BE(body.length)
	check.writeUInt32BE(crc32(named))
	return Buffer.concat([length, named, check])
}
