/* What we use of dygraphs, which comes without types. */
declare module 'dygraphs' {
  export interface Area { x: number; y: number; w: number; h: number }
  export interface Tick { v: number; label?: string; label_v?: number }
  export interface PlotterCall { dygraph: Dygraph; drawingContext: CanvasRenderingContext2D; plotArea: Area; setName: string }
  export type Ticker = (lo: number, hi: number, pixels: number, option: (name: string) => unknown, g: Dygraph, vals?: number[]) => Tick[];
  export default class Dygraph {
    static numericTicks: Ticker;
    constructor(root: HTMLElement, data: (number | null)[][], options: Record<string, unknown>);
    updateOptions(options: Record<string, unknown>, later?: boolean): void;
    toDomXCoord(ms: number): number;
    toDomYCoord(value: number, axis?: number): number;
    toDataXCoord(x: number): number;
    toDataYCoord(y: number, axis?: number): number;
    xAxisRange(): [number, number];
    yAxisRange(axis?: number): [number, number];
    getArea(): Area;
    destroy(): void;
  }
}
declare const VERSION: string;
declare module '*.def' { const text: string; export default text }
